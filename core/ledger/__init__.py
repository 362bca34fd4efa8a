"""The delivery ledger: who gets which campaign, in which provider call, with which result. The truth about sends."""
