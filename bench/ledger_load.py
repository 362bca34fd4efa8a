"""`python -m bench.ledger_load DATABASE_URL CAMPAIGN FILE`: upload an audience in a process of its own, as the command
line does, from the file's first byte to the last commit; prints {"rows", "seconds", "rss_mb"}."""

import json
import os
import sys
import time
from pathlib import Path

from bench.measure import peak_mb
from config.settings import load
from core import database
from core.recipients import RecipientStore, connect
from sender.campaign import Campaigns


def main(database_url: str, campaign_id: str, path: str) -> None:
    """Upload and print."""
    settings = load({"DATABASE_URL": database_url})
    engine = database.create(database_url)
    records = RecipientStore(
        connect(settings), settings.recipient_key
    )  # connects to nothing: an upload reads no record
    one = Campaigns.of(settings, engine, records, patient=True)
    started = time.perf_counter()
    with Path(path).open("rb") as source:
        uploaded = one.upload(campaign_id, source, "ndjson")
    seconds = time.perf_counter() - started
    print(json.dumps({"rows": uploaded.loaded.added, "seconds": seconds, "rss_mb": peak_mb(os.getpid())}))


if __name__ == "__main__":
    main(*sys.argv[1:])
