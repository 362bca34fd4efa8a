"""Generated cases have no deadline each: test machines are shared, and pytest-timeout bounds every test as a whole."""

from hypothesis import HealthCheck, settings

settings.register_profile("unit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unit")
