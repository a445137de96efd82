"""``triton.experimental``: Gluon's name, so that libraries which import it get on."""
