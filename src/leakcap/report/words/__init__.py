"""The words of a report: sentences, promises, and what is told of one release."""
