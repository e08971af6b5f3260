"""Papers that stand up to an audit: the model card, and what new rows say about a model in use."""
