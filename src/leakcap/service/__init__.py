"""The curator: a service that people ask, each under a verified name, while only the owner holds the data.

Importing its parts needs `pip install 'leakcap[curator]'`.
"""
