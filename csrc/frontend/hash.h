/* hash.h: what hash.c and hash_value.c share. */
#ifndef TEGULA_HASH_H
#define TEGULA_HASH_H

#include "frontend/frontend.h"

/* The names that a function, or one nested in it, has stored to. */
typedef struct Names {
    struct Names *outer; /* NULL: fn's own */
    PyObject *set;
} Names;

typedef struct Hash {
    const FeEnv *env;
    FeFunction *fn; /* the one being walked */
    Names *names;   /* innermost */
    PyObject *sha;
    PyObject *seen; /* set of FeFunction addresses */
    bool reads_all; /* the knob that lifts the rule on globals */
    PyObject *lost; /* what fe_clear noted: ends the hash, when all is put */
    char buf[4096];
    size_t n;
    int depth;
} Hash;

/* All: 0, or another number with an exception. */
int hash_put(Hash *h, const char *s);
int hash_put_str(Hash *h, PyObject *s);
int hash_put_repr(Hash *h, PyObject *o); /* the class's name and the repr */
/* A function of the user's, and what it calls; once each. */
int hash_put_function(Hash *h, FeFunction *fn);
/* A value that a kernel may have used. */
int hash_put_value(Hash *h, PyObject *o);

#endif
