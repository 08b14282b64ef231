"""The tenants' experiment, in virtual time."""
