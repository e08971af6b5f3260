"""Problems that are solved as several simpler ones."""
