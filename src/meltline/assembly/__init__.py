"""From a checked pipeline file to running parts: the only place that knows every connector."""
