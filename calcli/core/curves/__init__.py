"""The numbers behind figures."""
