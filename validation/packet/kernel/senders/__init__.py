"""Senders: what is sent next, and what an acknowledgement means."""
