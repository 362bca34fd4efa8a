"""Our own tags where a provider's tags are plain texts: `mailward_campaign=spring-2026`, parted by semicolons."""


def named(written: object) -> dict[str, object]:
    """The tags in `written`, a text or a list of texts, by name; whatever else stands there is nobody's tag."""
    texts = written if isinstance(written, list) else [written]
    pairs = (one.partition("=") for text in texts if isinstance(text, str) for one in text.split(";"))
    return {name.strip(): value.strip() for name, _, value in pairs}
