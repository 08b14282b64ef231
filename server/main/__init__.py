"""One gateway: its parts are made from the settings, started in order, and let go of in the reverse one."""
