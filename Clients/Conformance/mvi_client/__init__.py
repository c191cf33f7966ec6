"""A client of an mvi-server, on asyncio and nothing else. `Client` is what a program uses."""

from .client import Client, Refused

__all__ = ["Client", "Refused"]
