"""The conformance kit: a scripted server, the process of a client's driver, and the checks of scenarios."""
