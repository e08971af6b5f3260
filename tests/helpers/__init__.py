"""What several tests share: data, cases, and oracles written apart from the engines."""
