/* The compiled part of rageval. It is optional: whatever it does, plain Python does too, and the two cannot be
 * told apart by any output. Stable ABI, no numpy: data comes in through the buffer protocol.
 *
 * Numbers must be the same bits as Python's, so this is compiled without contraction of a*b+c and never with
 * -ffast-math. Lengths are checked once, where they enter; what is read from a buffer is read once, copied or
 * checked, and only then used, because the interpreter runs on meanwhile.
 */
#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "sums of doubles must be rounded to double; rageval works without this part"
#endif

#define INTERFACE 2 /* what rageval/kernel.py expects; one more whenever a function changes */

/* ---------------------------------------------------------------------------------------------- columns
 * In: any object with the buffer protocol. Out: its bytes, and how many items of which width it holds.
 * Never true of an open column: that it has strides, is not aligned, is of the other byte order, or holds
 * something else than whole numbers (doubles, bytes) where these are expected.
 */
typedef struct {
    Py_buffer view;
    int open;
    Py_ssize_t length; /* in items */
} Column;

static int column_open(Column *column, PyObject *given, const char *name, const char *formats, Py_ssize_t width)
{
    if (PyObject_GetBuffer(given, &column->view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) < 0)
        return -1;
    column->open = 1;
    const char *format = column->view.format ? column->view.format : "B";
    if (column->view.itemsize != width || !format[0] || !strchr(formats, format[0]) || format[1]) {
        PyErr_Format(PyExc_TypeError, "%s: expected items of %zd bytes (one of '%s'), found %zd ('%s')", name,
                     width, formats, column->view.itemsize, format);
        return -1;
    }
    if (column->view.ndim > 1) {
        PyErr_Format(PyExc_TypeError, "%s: expected one dimension, found %d", name, column->view.ndim);
        return -1;
    }
    if (column->view.len && (uintptr_t)column->view.buf % (uintptr_t)width) {
        PyErr_Format(PyExc_ValueError, "%s: is not aligned", name);
        return -1;
    }
    column->length = column->view.len / width;
    return 0;
}

static void columns_close(Column *columns, int count)
{
    for (int at = 0; at < count; at++)
        if (columns[at].open)
            PyBuffer_Release(&columns[at].view);
}

/* Scratch memory that only grows. Never true: that `items` holds less than the last room asked for. */
typedef struct {
    void *items;
    size_t room;
} Scratch;

static int scratch_grow(Scratch *scratch, size_t count, size_t width)
{
    size_t room = count > SIZE_MAX / 2 ? count : count + count / 2;
    if (room > (size_t)PY_SSIZE_T_MAX / width)
        return -1;
    void *items = realloc(scratch->items, room * width);
    if (!items)
        return -1;
    scratch->items = items;
    scratch->room = room;
    return 0;
}

static inline int scratch_room(Scratch *scratch, size_t count, size_t width)
{
    return count <= scratch->room ? 0 : scratch_grow(scratch, count, width);
}

static void scratch_free(Scratch *scratch)
{
    free(scratch->items);
    memset(scratch, 0, sizeof *scratch);
}

static void scratch_shrink(Scratch *scratch, size_t count, size_t width) /* give back what is not used */
{
    void *items = count && count < scratch->room ? realloc(scratch->items, count * width) : NULL;
    if (items) {
        scratch->items = items;
        scratch->room = count;
    }
}

/* ------------------------------------------------------------------------------------------ exact sums
 * In: terms from 0 to 1, at least one, at most as many as `partials` has room for. Out: their exact sum, rounded
 * once, half to even, as math.fsum has it (Shewchuk 1997: the sum so far as doubles that do not overlap, the smallest
 * first). Never true: that two equal multisets of terms give different bits, that a larger term makes the sum
 * smaller, or that a sum overflows.
 */
static double exact_sum(const double *worth, const int32_t *seen, const int32_t *nuggets, int32_t count,
                        double *partials)
{
    double plain = worth[seen[nuggets[0]]];
    int exact = 1;
    for (int32_t at = 1; at < count; at++) {
        double term = worth[seen[nuggets[at]]], next = plain + term, share = next - plain;
        exact &= (plain - (next - share)) + (term - share) == 0.0; /* Knuth: what the addition lost */
        plain = next;
    }
    if (exact)
        return plain;
    int32_t used = 0;
    for (int32_t at = 0; at < count; at++) {
        double sum = worth[seen[nuggets[at]]];
        int32_t kept = 0;
        for (int32_t part = 0; part < used; part++) {
            double large = sum, small = partials[part];
            if (fabs(large) < fabs(small)) {
                large = partials[part];
                small = sum;
            }
            sum = large + small;
            double lost = small - (sum - large);
            if (lost != 0.0)
                partials[kept++] = lost;
        }
        partials[kept++] = sum;
        used = kept;
    }
    double sum = partials[--used], lost = 0.0;
    while (used > 0 && lost == 0.0) {
        double large = sum, small = partials[--used];
        sum = large + small;
        lost = small - (sum - large);
    }
    /* Half-way between two doubles, what is still below decides: towards it, not to even. */
    if (used > 0 && ((lost < 0.0 && partials[used - 1] < 0.0) || (lost > 0.0 && partials[used - 1] > 0.0))) {
        double twice = lost * 2.0, other = sum + twice;
        if (twice == other - sum)
            sum = other;
    }
    return sum;
}

/* ------------------------------------------------------------------------- the order of the greedy ideal
 * In: the judgements of many topics as columns. Documents of topic t are topics[t] to topics[t + 1]; the
 * (nugget, grade) pairs of document d are begin[d] to begin[d + 1], by nugget, nuggets numbered from 0 in each
 * topic; its id is the bytes id_ends[d] to id_ends[d + 1] of ids. A nugget that c documents above support is worth
 * worth[c].
 * Out: for each topic the documents, numbered from 0 in it, as the greedy ideal ranking has them: rank by rank
 * the one whose nuggets are worth most, of equal ones the last by the bytes of its id; to rank k. Only
 * documents with a nugget of grade `rel` or more are in it.
 * Gains only fall, so one that was right some ranks ago is not below today's: only the document on top of the
 * heap is reckoned again. Documents with the same nuggets gain the same for ever: only the first of them waits
 * in the heap.
 * Never true: that a place behind the end of a column is read or written, whatever the columns hold.
 */
typedef struct {
    const int32_t *topic_nuggets; /* of the topic: moves while its documents are gathered, then stands */
    size_t first;                 /* where the document's nuggets begin in it */
    int32_t count;
    int32_t number;
    uint64_t key; /* the first eight bytes in which ids of the topic differ: decides nearly always */
    const unsigned char *id;
    size_t id_length;
} Document;

typedef struct {
    double gain;  /* as last reckoned: today's or more */
    uint64_t key; /* of `next` */
    const Document *next; /* the first that is not taken of those with just these nuggets */
    const Document *end;
} Kind;

typedef struct {
    const int64_t *topics, *begin, *id_ends;
    const int32_t *nugget, *grade;
    const unsigned char *ids;
    const double *worth;
    int64_t n_topics, n_documents, n_pairs, n_id_bytes, n_worth;
    int64_t k; /* below 0: all */
    int32_t n_nuggets, rel;
    Scratch nuggets, documents, kinds, partials, seen, order, ends;
    size_t ordered; /* how many documents of all topics are in `order` */
    int64_t topic;  /* the one at hand, for messages */
    const char *wrong;
} Ideal;

static int by_id(const Document *one, const Document *other) /* below 0: `one` comes first */
{
    if (one->key != other->key)
        return one->key > other->key ? -1 : 1;
    size_t shorter = one->id_length < other->id_length ? one->id_length : other->id_length;
    int sign = shorter ? memcmp(other->id, one->id, shorter) : 0;
    if (sign)
        return sign;
    if (one->id_length != other->id_length)
        return one->id_length > other->id_length ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

static int same_nuggets(const Document *one, const Document *other)
{
    return one->count == other->count && !memcmp(one->topic_nuggets + one->first, other->topic_nuggets + other->first,
                                                 (size_t)one->count * sizeof(int32_t));
}

static int by_nuggets(const void *left, const void *right) /* those with the same ones together, then by id */
{
    const Document *one = left, *other = right;
    if (one->count != other->count)
        return one->count < other->count ? -1 : 1;
    int sign = memcmp(one->topic_nuggets + one->first, other->topic_nuggets + other->first,
                      (size_t)one->count * sizeof(int32_t));
    return sign ? sign : by_id(one, other);
}

static int waits_before(const Kind *one, const Kind *other)
{
    if (one->gain != other->gain)
        return one->gain > other->gain;
    if (one->key != other->key)
        return one->key > other->key;
    return by_id(one->next, other->next) < 0;
}

static void sift(Kind *heap, size_t length, size_t at)
{
    Kind moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= length)
            break;
        if (child + 1 < length && waits_before(&heap[child + 1], &heap[child]))
            child++;
        if (!waits_before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
}

static int ideal_wrong(Ideal *ideal, const char *what)
{
    ideal->wrong = what;
    return -1;
}

/* Gather the nuggets of one document that count, behind the `*used` of the documents before it. */
static int ideal_document(Ideal *ideal, int64_t at, Document *document, size_t *used)
{
    int64_t first = ideal->begin[at], last = ideal->begin[at + 1];
    if (first < 0 || last < first || last > ideal->n_pairs)
        return ideal_wrong(ideal, "begin: expected places in the pairs, ascending");
    if (last - first > INT32_MAX)
        return ideal_wrong(ideal, "begin: a document has more than 2^31 - 1 pairs");
    if (scratch_room(&ideal->nuggets, *used + (size_t)(last - first), sizeof(int32_t)) < 0)
        return ideal_wrong(ideal, NULL);
    int32_t *nuggets = (int32_t *)ideal->nuggets.items + *used, before = -1;
    document->first = *used;
    document->count = 0;
    for (int64_t pair = first; pair < last; pair++) {
        int32_t nugget = ideal->nugget[pair];
        if (nugget <= before || nugget >= ideal->n_nuggets)
            return ideal_wrong(ideal, "nugget: expected numbers below n_nuggets, ascending in a document");
        before = nugget;
        if (ideal->grade[pair] >= ideal->rel)
            nuggets[document->count++] = nugget;
    }
    *used += (size_t)document->count;
    int64_t start = ideal->id_ends[at], end = ideal->id_ends[at + 1];
    if (start < 0 || end < start || end > ideal->n_id_bytes)
        return ideal_wrong(ideal, "id_ends: expected places in the bytes of the ids, ascending");
    document->id = ideal->ids + start;
    document->id_length = (size_t)(end - start);
    return 0;
}

/* Say how many bytes all ids of a topic begin with alike, and let the next eight of each be its key, zeros for
 * those behind its end: of two keys that differ the larger is that of the id which is larger as bytes. */
static void ideal_keys(Document *documents, int64_t count)
{
    size_t alike = count ? documents[0].id_length : 0;
    for (int64_t at = 1; at < count; at++) {
        const unsigned char *one = documents[0].id, *other = documents[at].id;
        size_t same = 0;
        alike = documents[at].id_length < alike ? documents[at].id_length : alike;
        while (same < alike && one[same] == other[same])
            same++;
        alike = same;
    }
    for (int64_t at = 0; at < count; at++) {
        Document *document = &documents[at];
        document->key = 0;
        for (size_t place = alike; place < alike + 8; place++)
            document->key = document->key << 8 | (place < document->id_length ? document->id[place] : 0);
    }
}

/* Gather the relevant documents of a topic; return how many they are, below 0 if something is wrong. */
static int64_t ideal_documents(Ideal *ideal, int64_t first, int64_t last)
{
    if (scratch_room(&ideal->documents, (size_t)(last - first), sizeof(Document)) < 0)
        return ideal_wrong(ideal, NULL);
    Document *documents = ideal->documents.items;
    size_t used = 0;
    int64_t relevant = 0;
    int32_t most = 0;
    for (int64_t at = first; at < last; at++) {
        Document *document = &documents[relevant];
        if (ideal_document(ideal, at, document, &used) < 0)
            return -1;
        document->number = (int32_t)(at - first);
        most = document->count > most ? document->count : most;
        relevant += document->count > 0;
    }
    for (int64_t at = 0; at < relevant; at++)
        documents[at].topic_nuggets = ideal->nuggets.items;
    ideal_keys(documents, relevant);
    if (scratch_room(&ideal->partials, (size_t)most + 1, sizeof(double)) < 0)
        return ideal_wrong(ideal, NULL);
    return relevant;
}

/* Make a heap of the kinds of documents; `seen` is 0 everywhere. */
static size_t ideal_heap(Ideal *ideal, size_t relevant)
{
    Document *documents = ideal->documents.items;
    Kind *heap = ideal->kinds.items;
    size_t kinds = 0;
    qsort(documents, relevant, sizeof(Document), by_nuggets);
    for (size_t at = 0; at < relevant; kinds++) {
        Kind *kind = &heap[kinds];
        kind->next = &documents[at];
        kind->key = kind->next->key;
        kind->gain = exact_sum(ideal->worth, ideal->seen.items, kind->next->topic_nuggets + kind->next->first,
                               kind->next->count, ideal->partials.items);
        while (++at < relevant && same_nuggets(kind->next, &documents[at])) {
        }
        kind->end = documents + at;
    }
    for (size_t at = kinds / 2; at-- > 0;)
        sift(heap, kinds, at);
    return kinds;
}

static int ideal_topic(Ideal *ideal, int64_t first, int64_t last)
{
    int64_t relevant = ideal_documents(ideal, first, last);
    if (relevant < 0)
        return -1;
    int64_t depth = ideal->k >= 0 && ideal->k < relevant ? ideal->k : relevant;
    if (depth > ideal->n_worth)
        return ideal_wrong(ideal, "worth: expected a value for every rank");
    if (scratch_room(&ideal->kinds, (size_t)relevant, sizeof(Kind)) < 0 ||
        scratch_room(&ideal->order, ideal->ordered + (size_t)depth, sizeof(int32_t)) < 0)
        return ideal_wrong(ideal, NULL);
    if (!depth)
        return 0;
    int32_t *order = (int32_t *)ideal->order.items + ideal->ordered, *seen = ideal->seen.items;
    Kind *heap = ideal->kinds.items;
    size_t kinds = ideal_heap(ideal, (size_t)relevant);
    for (int64_t taken = 0; taken < depth;) {
        const Document *best = heap[0].next;
        const int32_t *nuggets = best->topic_nuggets + best->first;
        double now = exact_sum(ideal->worth, seen, nuggets, best->count, ideal->partials.items);
        if (now == heap[0].gain) {
            order[taken++] = best->number;
            for (int32_t at = 0; at < best->count; at++)
                seen[nuggets[at]]++;
            if (++heap[0].next == heap[0].end)
                heap[0] = heap[--kinds];
            else
                heap[0].key = heap[0].next->key;
        }
        else
            heap[0].gain = now;
        if (kinds)
            sift(heap, kinds, 0);
    }
    for (int64_t at = 0; at < relevant; at++) {
        const Document *document = (const Document *)ideal->documents.items + at;
        for (int32_t place = 0; place < document->count; place++)
            seen[document->topic_nuggets[document->first + (size_t)place]] = 0;
    }
    ideal->ordered += (size_t)depth;
    return 0;
}

static int ideal_all(Ideal *ideal)
{
    ideal->seen.items = calloc((size_t)ideal->n_nuggets + 1, sizeof(int32_t)); /* untouched pages cost nothing */
    if (!ideal->seen.items ||
        scratch_room(&ideal->ends, (size_t)ideal->n_topics + 1, sizeof(int64_t)) < 0)
        return ideal_wrong(ideal, NULL);
    for (ideal->topic = 0; ideal->topic < ideal->n_topics; ideal->topic++) {
        int64_t first = ideal->topics[ideal->topic], last = ideal->topics[ideal->topic + 1];
        if (first < 0 || last < first || last > ideal->n_documents)
            return ideal_wrong(ideal, "topics: expected places in the documents, ascending");
        if (last - first > INT32_MAX)
            return ideal_wrong(ideal, "topics: a topic has more than 2^31 - 1 documents");
        if (ideal_topic(ideal, first, last) < 0)
            return -1;
        ((int64_t *)ideal->ends.items)[ideal->topic] = (int64_t)ideal->ordered;
    }
    return 0;
}

/* Copy the table of what a nugget is worth: 0 to 1, never more the more often it was seen. */
static int ideal_worth(const Column *column, double **worth)
{
    *worth = malloc(column->view.len ? (size_t)column->view.len : 1);
    if (!*worth) {
        PyErr_NoMemory();
        return -1;
    }
    if (column->view.len)
        memcpy(*worth, column->view.buf, (size_t)column->view.len);
    double before = 1.0;
    for (Py_ssize_t at = 0; at < column->length; at++) {
        double now = (*worth)[at];
        if (!(now >= 0.0 && now <= before)) {
            PyErr_SetString(PyExc_ValueError, "worth: expected numbers from 1 to 0, none above the one before");
            return -1;
        }
        before = now;
    }
    return 0;
}

enum { TOPICS, BEGIN, NUGGET, GRADE, IDS, ID_ENDS, WORTH, COLUMNS };

static int ideal_open(Ideal *ideal, Column *columns, PyObject **given)
{
    static const char *const names[] = {"topics", "begin", "nugget", "grade", "ids", "id_ends", "worth"};
    static const char *const formats[] = {"lq", "lq", "il", "il", "Bbc", "lq", "d"};
    static const Py_ssize_t widths[] = {8, 8, 4, 4, 1, 8, 8};
    for (int at = 0; at < COLUMNS; at++)
        if (column_open(&columns[at], given[at], names[at], formats[at], widths[at]) < 0)
            return -1;
    if (columns[TOPICS].length < 1 || columns[BEGIN].length < 1) {
        PyErr_SetString(PyExc_ValueError, "topics, begin: expected one number more than there are of them");
        return -1;
    }
    ideal->n_topics = columns[TOPICS].length - 1;
    ideal->n_documents = columns[BEGIN].length - 1;
    ideal->n_pairs = columns[NUGGET].length;
    ideal->n_id_bytes = columns[IDS].length;
    ideal->n_worth = columns[WORTH].length;
    if (columns[GRADE].length != columns[NUGGET].length) {
        PyErr_SetString(PyExc_ValueError, "nugget, grade: expected columns of one length");
        return -1;
    }
    if (columns[ID_ENDS].length != ideal->n_documents + 1) {
        PyErr_SetString(PyExc_ValueError, "id_ends: expected one number more than there are documents");
        return -1;
    }
    ideal->topics = columns[TOPICS].view.buf;
    ideal->begin = columns[BEGIN].view.buf;
    ideal->nugget = columns[NUGGET].view.buf;
    ideal->grade = columns[GRADE].view.buf;
    ideal->ids = columns[IDS].view.buf;
    ideal->id_ends = columns[ID_ENDS].view.buf;
    return 0;
}

static PyObject *ideal_found(Ideal *ideal, int failed)
{
    if (failed && ideal->wrong)
        return PyErr_Format(PyExc_ValueError, "%s (topic %lld)", ideal->wrong, (long long)ideal->topic);
    if (failed)
        return PyErr_NoMemory();
    const char *order = ideal->order.items ? ideal->order.items : "", *ends = ideal->ends.items;
    return Py_BuildValue("(y#y#)", order, (Py_ssize_t)(ideal->ordered * sizeof(int32_t)), ends,
                         (Py_ssize_t)((size_t)ideal->n_topics * sizeof(int64_t)));
}

PyDoc_STRVAR(ideal_orders_doc,
             "ideal_orders(topics, begin, nugget, grade, ids, id_ends, worth, n_nuggets, rel, k)\n"
             "--\n\n"
             "Return the documents of each topic as the greedy ideal ranking has them, to rank k (-1: all),\n"
             "as bytes of 32-bit numbers, and where each topic's end in it, as bytes of 64-bit numbers.");

static PyObject *ideal_orders(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *given[COLUMNS];
    Column columns[COLUMNS];
    Ideal ideal;
    int n_nuggets, rel;
    long long k;
    double *worth = NULL;
    PyObject *found = NULL;
    memset(columns, 0, sizeof columns);
    memset(&ideal, 0, sizeof ideal);
    if (!PyArg_ParseTuple(args, "OOOOOOOiiL:ideal_orders", &given[TOPICS], &given[BEGIN], &given[NUGGET],
                          &given[GRADE], &given[IDS], &given[ID_ENDS], &given[WORTH], &n_nuggets, &rel, &k))
        return NULL;
    ideal.n_nuggets = n_nuggets;
    ideal.rel = rel;
    ideal.k = k;
    if (n_nuggets < 0)
        return PyErr_Format(PyExc_ValueError, "n_nuggets: expected 0 or more, found %d", n_nuggets);
    if (ideal_open(&ideal, columns, given) == 0 && ideal_worth(&columns[WORTH], &worth) == 0) {
        int failed;
        ideal.worth = worth;
        Py_BEGIN_ALLOW_THREADS
        failed = ideal_all(&ideal) < 0;
        Py_END_ALLOW_THREADS
        found = ideal_found(&ideal, failed);
    }
    Scratch *all[] = {&ideal.nuggets, &ideal.documents, &ideal.kinds, &ideal.partials,
                      &ideal.seen,    &ideal.order,     &ideal.ends};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        free(all[at]->items);
    free(worth);
    columns_close(columns, COLUMNS);
    return found;
}

/* ------------------------------------------------------------------------------------------------ words
 * Eight bytes at once, the first in the lowest bits whatever the machine. Never true: that fewer than eight bytes
 * may be read where `load64` is asked to; what is read lies in memory with PADDING bytes behind it.
 */
#define PADDING 64
#define EACH(byte) (0x0101010101010101u * (uint64_t)(byte))

static inline uint64_t load64(const unsigned char *from)
{
    uint64_t word;
    memcpy(&word, from, 8);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline int zeros_below(uint64_t word) /* how many bits are 0 below the lowest 1; `word` has one */
{
#if defined(__GNUC__)
    return __builtin_ctzll(word);
#else
    int zeros = 0;
    for (; !(word & 1); word >>= 1)
        zeros++;
    return zeros;
#endif
}

static inline int zeros_above(uint64_t word) /* how many bits are 0 above the highest 1; `word` has one */
{
#if defined(__GNUC__)
    return __builtin_clzll(word);
#else
    int zeros = 0;
    for (; !(word >> 63); word <<= 1)
        zeros++;
    return zeros;
#endif
}

/* SipHash-1-3 (Aumasson & Bernstein 2012), the hash that CPython has for text. Keyed by a secret of this process:
 * nobody can write a file whose ids all fall into one place. */
typedef struct {
    uint64_t left, right;
} Seed;

#define TURNED(word, by) ((word) << (by) | (word) >> (64 - (by)))
#define SIP_ROUND(a, b, c, d)                                                                                      \
    do {                                                                                                           \
        a += b, c += d;                                                                                            \
        b = TURNED(b, 13) ^ a, d = TURNED(d, 16) ^ c;                                                              \
        a = TURNED(a, 32);                                                                                         \
        c += b, a += d;                                                                                            \
        b = TURNED(b, 17) ^ c, d = TURNED(d, 21) ^ a;                                                              \
        c = TURNED(c, 32);                                                                                         \
    } while (0)

static inline uint64_t hash_of(const Seed *seed, const unsigned char *id, size_t length)
{
    uint64_t a = seed->left ^ 0x736f6d6570736575u, b = seed->right ^ 0x646f72616e646f6du;
    uint64_t c = seed->left ^ 0x6c7967656e657261u, d = seed->right ^ 0x7465646279746573u;
    size_t at = 0;
    for (; at + 8 <= length; at += 8) {
        uint64_t word = load64(id + at);
        d ^= word;
        SIP_ROUND(a, b, c, d);
        a ^= word;
    }
    uint64_t rest = load64(id + at) & (((uint64_t)1 << 8 * (length - at)) - 1);
    uint64_t last = (uint64_t)length << 56 | rest;
    d ^= last;
    SIP_ROUND(a, b, c, d);
    a ^= last;
    c ^= 0xff;
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    SIP_ROUND(a, b, c, d);
    return a ^ b ^ c ^ d;
}

/* ------------------------------------------------------------------------------------------------ names
 * Ids, numbered from 0 as they came. Never true: that two of them are equal; that an id is taken for another
 * because their hashes are equal; that more than half of the slots are taken; that a table which was emptied has
 * more slots than the ids it held before could fill (a large query must not make all the later ones slow).
 */
typedef struct {
    Scratch bytes;  /* the ids, one behind the other, and PADDING */
    Scratch ends;   /* size_t: where each ends, after a 0 */
    Scratch hashes; /* uint64_t of each */
    Scratch slots;  /* uint64_t: the upper half of the hash and the number + 1, or 0 where the slot is free */
    size_t count, mask;
} Names;

#define FEWEST_SLOTS 64

static void names_free(Names *names)
{
    scratch_free(&names->bytes);
    scratch_free(&names->ends);
    scratch_free(&names->hashes);
    scratch_free(&names->slots);
    names->count = names->mask = 0;
}

static int names_slots(Names *names, size_t slots) /* make a table of so many, a power of two, and fill it */
{
    if (scratch_room(&names->slots, slots, sizeof(uint64_t)) < 0)
        return -1;
    uint64_t *table = names->slots.items, *hashes = names->hashes.items;
    memset(table, 0, slots * sizeof(uint64_t));
    names->mask = slots - 1;
    for (size_t number = 0; number < names->count; number++) {
        size_t at = hashes[number] & names->mask;
        while (table[at])
            at = (at + 1) & names->mask;
        table[at] = (hashes[number] >> 32 << 32) | (number + 1);
    }
    return 0;
}

static int names_empty(Names *names) /* also what makes them, out of zeros */
{
    size_t slots = FEWEST_SLOTS;
    while (slots < 2 * names->count)
        slots *= 2;
    names->count = 0;
    if (scratch_room(&names->ends, 1, sizeof(size_t)) < 0)
        return -1;
    *(size_t *)names->ends.items = 0;
    return names_slots(names, slots);
}

static inline const unsigned char *names_at(const Names *names, size_t number, size_t *length)
{
    const size_t *ends = (const size_t *)names->ends.items + number;
    *length = ends[1] - ends[0];
    return (const unsigned char *)names->bytes.items + ends[0];
}

static inline int names_is(const Names *names, size_t number, const unsigned char *id, size_t length)
{
    size_t other;
    const unsigned char *known = names_at(names, number, &other);
    return other == length && !memcmp(known, id, length);
}

static inline int64_t names_find(const Names *names, const unsigned char *id, size_t length, uint64_t hash)
{
    const uint64_t *slots = names->slots.items;
    for (size_t at = hash & names->mask; slots[at]; at = (at + 1) & names->mask)
        if ((slots[at] ^ hash) >> 32 == 0 && names_is(names, (uint32_t)slots[at] - 1, id, length))
            return (uint32_t)slots[at] - 1;
    return -1;
}

/* Add an id that is not there. Below 0: no memory, or more ids than numbers. */
static inline int64_t names_add(Names *names, const unsigned char *id, size_t length, uint64_t hash)
{
    size_t number = names->count, start = ((const size_t *)names->ends.items)[number];
    if (number >= INT32_MAX || scratch_room(&names->bytes, start + length + PADDING, 1) < 0 ||
        scratch_room(&names->ends, number + 2, sizeof(size_t)) < 0 ||
        scratch_room(&names->hashes, number + 1, sizeof(uint64_t)) < 0)
        return -1;
    memcpy((unsigned char *)names->bytes.items + start, id, length);
    ((size_t *)names->ends.items)[number + 1] = start + length;
    ((uint64_t *)names->hashes.items)[number] = hash;
    if (2 * ++names->count > names->mask)
        return names_slots(names, 2 * (names->mask + 1)) < 0 ? -1 : (int64_t)number;
    uint64_t *slots = names->slots.items;
    size_t at = hash & names->mask;
    while (slots[at])
        at = (at + 1) & names->mask;
    slots[at] = (hash >> 32 << 32) | (number + 1);
    return (int64_t)number;
}

static PyObject *names_list(const Names *names)
{
    PyObject *list = PyList_New((Py_ssize_t)names->count);
    for (size_t number = 0; list && number < names->count; number++) {
        size_t length;
        const unsigned char *id = names_at(names, number, &length);
        PyObject *name = PyBytes_FromStringAndSize((const char *)id, (Py_ssize_t)length);
        if (!name || PyList_SetItem(list, (Py_ssize_t)number, name) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* ------------------------------------------------------------------------------------------------ lines
 * In: chunks of whole lines. They are copied, some at a time, so that a buffer that somebody else writes into does no
 * harm, the last line has its newline, and eight bytes may be read anywhere.
 * Out: fields, line by line. What may part fields is found first, as bits, eight bytes at once.
 * Never true of the lines at hand: that they do not end in a newline; that a byte below 0x21 is not among the
 * separators, or another one is; that they hold a 0x7f, or are not UTF-8.
 */
enum { FINE, ODD, APART, CONTRADICTED, TWICE, NO_MEMORY = -1 }; /* what a feed returns */

#define STRETCH 32768 /* bytes of lines that are looked at together: a part of the processor's nearest cache */
#define WIDEST 6

typedef struct {
    const unsigned char *start;
    size_t length;
} Field;

typedef struct {
    Seed seed;
    size_t id_limit, line_limit;
    int width, tabbed;
    enum { READING, BUSY, FAILED, ENDED } state;
    PyThreadState *thread; /* to take the GIL again with, while BUSY */
    Scratch text, separators;
    size_t next, n_separators; /* of the separators: the first one of the next line, and all */
    uint32_t start;            /* of the next line */
} Lines;

static int is_utf8(const unsigned char *text, size_t length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    for (size_t at = 0; at < length;) {
        unsigned char lead = text[at];
        if (!(load64(text + at) & EACH(0x80))) {
            at += 8;
            continue;
        }
        if (lead < 0x80) {
            at++;
            continue;
        }
        if (lead < 0xc2 || lead > 0xf4)
            return 0;
        int size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        uint32_t code = lead & (0x7fu >> size);
        for (int more = 1; more < size; more++) {
            unsigned char byte = text[at + (size_t)more];
            if (byte >> 6 != 2)
                return 0;
            code = code << 6 | (byte & 0x3fu);
        }
        if (code < least[size] || code > 0x10ffff || code >> 11 == 0x1b)
            return 0;
        at += (size_t)size;
    }
    return 1;
}

/* Find the separators of `length` bytes of text; return the bits of all bytes that are 0x7f or not ASCII. */
static uint64_t lines_separators(Lines *lines, size_t length)
{
    const unsigned char *text = lines->text.items;
    uint32_t *separators = lines->separators.items, *next = separators;
    uint64_t unusual = 0;
    for (size_t block = 0; block < length; block += 64) {
        uint64_t found = 0;
        for (int word = 0; word < 8; word++) {
            uint64_t bytes = load64(text + block + 8 * word), low = bytes & EACH(0x7f);
            unusual |= bytes | (low + EACH(1));
            uint64_t low_ones = ~((low + EACH(0x5f)) | bytes) & EACH(0x80); /* the high bit of bytes below 0x21 */
            found |= (low_ones >> 7) * 0x0102040810204080u >> 56 << 8 * word; /* a bit a byte, in their order */
        }
        for (; found; found &= found - 1)
            *next++ = (uint32_t)(block + (size_t)zeros_below(found));
    }
    lines->n_separators = (size_t)(next - separators);
    return unusual & EACH(0x80);
}

/* Copy the next whole lines of a chunk: STRETCH bytes at most, or one line that is longer. */
static int lines_take(Lines *lines, const unsigned char *chunk, size_t length, size_t *taken)
{
    size_t size = length;
    if (length > STRETCH) {
        for (size = STRETCH; size && chunk[size - 1] != '\n';)
            size--;
        const unsigned char *newline = size ? NULL : memchr(chunk + STRETCH, '\n', length - STRETCH);
        if (!size)
            size = newline ? (size_t)(newline - chunk) + 1 : length;
    }
    if (size > STRETCH && (size > INT32_MAX - 2 * PADDING || size - 2 > lines->line_limit))
        return ODD;
    if (scratch_room(&lines->text, size + 1 + 2 * PADDING, 1) < 0 ||
        scratch_room(&lines->separators, size + 1, sizeof(uint32_t)) < 0)
        return NO_MEMORY;
    unsigned char *text = lines->text.items;
    memcpy(text, chunk, size);
    *taken = size;
    if (text[size - 1] == '\r')
        return ODD; /* is it the end of a line? */
    if (text[size - 1] != '\n')
        text[size++] = '\n';
    memset(text + size, 'x', 2 * PADDING);
    lines->next = lines->start = 0;
    if (lines_separators(lines, size) && (memchr(text, 0x7f, size) || !is_utf8(text, size)))
        return ODD;
    return FINE;
}

/* Cut the line between two separators at its tabs; blanks around a field are not of it. Nothing left: ODD. */
static int lines_by_tabs(const Lines *lines, size_t first, size_t last, uint32_t start, Field *fields)
{
    const unsigned char *text = lines->text.items;
    const uint32_t *separators = lines->separators.items;
    for (size_t at = first; at <= last; at++) {
        uint32_t left = start, right = separators[at];
        if (text[right] == ' ')
            continue;
        while (left < right && text[left] == ' ')
            left++;
        while (left < right && text[right - 1] == ' ')
            right--;
        if (left == right)
            return ODD;
        fields->start = text + left;
        fields++->length = right - left;
        start = separators[at] + 1;
    }
    return FINE;
}

/* Cut the next line into fields; `*blank` if there is nothing in it. */
static inline int lines_next(Lines *lines, Field *fields, int *blank)
{
    const unsigned char *text = lines->text.items;
    const uint32_t *separators = lines->separators.items;
    uint32_t begin = lines->start, start = begin;
    size_t first = lines->next, last = first;
    int count = 0, tabs = 0, returns = 0;
    for (;; last++) {
        uint32_t place = separators[last];
        if (place > start) {
            if (count < lines->width) {
                fields[count].start = text + start;
                fields[count].length = place - start;
            }
            count++;
        }
        start = place + 1;
        if (text[place] == ' ')
            continue;
        if (text[place] == '\n')
            break;
        if (text[place] == '\t')
            tabs++;
        else if (text[place] == '\r' && text[place + 1] == '\n')
            returns = 1;
        else
            return ODD;
    }
    lines->start = start;
    lines->next = last + 1;
    *blank = count == 0;
    if (*blank)
        return FINE;
    if (start - 1 - begin - (uint32_t)returns > lines->line_limit || text[begin] == '#' ||
        (text[begin] == 0xef && text[begin + 1] == 0xbb && text[begin + 2] == 0xbf))
        return ODD;
    int alike = count == lines->width && last - (size_t)returns - first == (size_t)tabs; /* both ways */
    if (tabs == lines->width - 1 && !alike && (lines->tabbed || count != lines->width))
        return lines_by_tabs(lines, first, last - (size_t)returns, begin, fields);
    return count == lines->width ? FINE : ODD;
}

/* ---------------------------------------------------------------------------------------------- numbers
 * Scores as `float()` has them: the double that is nearest, of two the even one. Never true: that a number is rounded
 * twice, or that a field is read which Python's pattern for it refuses.
 */
static inline int is_digit(unsigned char byte)
{
    return (unsigned char)(byte - '0') < 10;
}

/* m * 10^power, m > 0, exactly rounded; 0 if that takes more than 128 bits. 10^27 = 5^27 * 2^27, and 5^27 has 63
 * bits: so m * 5^27 and the first 64 bits of m / 5^27 can be had exactly, with a lowest bit that says whether
 * anything is left; making a double of these 64 bits rounds once, and a power of two changes no digit. */
static int scaled(uint64_t m, int power, double *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (m <= (uint64_t)1 << 53 && power >= -22 && power <= 22) { /* both exact, so the result is rounded once */
        *value = power < 0 ? (double)m / tens[-power] : (double)m * tens[power];
        return 1;
    }
#ifdef __SIZEOF_INT128__
    if (power < -27 || power > 27)
        return 0;
    unsigned __int128 whole;
    uint64_t five = 1, bits, left;
    int shift;
    for (int times = power < 0 ? -power : power; times; times--)
        five *= 5;
    if (power < 0) {
        int up = zeros_above(m), down = zeros_above(five);
        whole = (unsigned __int128)(m << up) << 63; /* the quotient has 63 or 64 bits */
        bits = (uint64_t)(whole / (five << down));
        left = (uint64_t)(whole % (five << down)) != 0;
        shift = down - up - 63;
    }
    else {
        whole = (unsigned __int128)m * five;
        uint64_t above = (uint64_t)(whole >> 64);
        shift = above ? 64 - zeros_above(above) : 0;
        bits = (uint64_t)(whole >> shift);
        left = (uint64_t)whole << (shift ? 64 - shift : 0) != 0 && shift;
    }
    uint64_t two = (uint64_t)(1023 + shift + power) << 52; /* a double that is a power of two */
    double scale;
    memcpy(&scale, &two, sizeof scale);
    *value = (double)(bits | left) * scale;
    return 1;
#else
    return 0;
#endif
}

/* Read a score the way Python does, with Python's own function. */
static double score_slowly(Lines *lines, Field field)
{
    unsigned char *text = (unsigned char *)lines->text.items, *end = text + (field.start - text) + field.length;
    unsigned char separator = *end;
    *end = 0; /* the text is ours, and a separator stands behind every field */
    PyEval_RestoreThread(lines->thread);
    double value = PyOS_string_to_double((const char *)field.start, NULL, NULL);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        value = NAN;
    }
    lines->thread = PyEval_SaveThread();
    *end = separator;
    return value;
}

/* [+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?, and finite; 0 if it is not. */
static inline int score_of(Lines *lines, Field field, double *value)
{
    const unsigned char *at = field.start, *end = at + field.length; /* a separator: stops every loop */
    int minus = *at == '-';
    at += minus || *at == '+';
    const unsigned char *first = at;
    uint64_t m = 0;
    for (; is_digit(*at); at++)
        m = m * 10 + (uint64_t)(*at - '0');
    ptrdiff_t digits = at - first, places = 0;
    if (*at == '.') {
        const unsigned char *point = at++;
        for (; is_digit(*at); at++)
            m = m * 10 + (uint64_t)(*at - '0');
        places = at - point - 1;
        digits += places;
    }
    int power = 0;
    if (digits && (*at == 'e' || *at == 'E')) {
        int down = *++at == '-';
        at += down || *at == '+';
        if (!is_digit(*at))
            return 0;
        for (; is_digit(*at); at++)
            power = power < 100000 ? power * 10 + (*at - '0') : power;
        power = down ? -power : power;
    }
    if (!digits || at != end)
        return 0;
    for (; digits > 19 && (*first == '0' || *first == '.'); first++)
        digits -= *first == '0';
    if (digits > 19 || places > 1000 || (m && !scaled(m, power - (int)places, value))) {
        *value = score_slowly(lines, field);
        return isfinite(*value);
    }
    if (!m)
        *value = 0.0;
    if (minus)
        *value = -*value;
    return 1;
}

static inline int grade_of(Field field, int32_t limit, int32_t *grade) /* [+-]?\d{1,7} */
{
    const unsigned char *at = field.start, *end = at + field.length;
    int minus = *at == '-';
    at += minus || *at == '+';
    if (at == end || end - at > 7)
        return 0;
    int32_t value = 0;
    for (; at < end; at++) {
        if (!is_digit(*at))
            return 0;
        value = value * 10 + (*at - '0');
    }
    *grade = minus ? -value : value;
    return value <= limit;
}

static inline int32_t rank_of(Field field) /* \d{1,8}, or -1 */
{
    int32_t value = 0;
    if (field.length > 8)
        return -1;
    for (size_t at = 0; at < field.length; at++) {
        if (!is_digit(field.start[at]))
            return -1;
        value = value * 10 + (field.start[at] - '0');
    }
    return value;
}

/* ----------------------------------------------------------------------------------------------- qrels
 * In: rows of judgements, a query's rows together. Out: the judgements that are kept (grade >= floor) as columns,
 * and for each query a table in which a run's documents are looked up.
 * Of the query at hand all rows are kept, for they may be repeated or contradicted. When it is done, what stays is
 * its documents with a judgement that is kept, and of the others the hash.
 * Never true: that a query has two stretches, a document two numbers in its query, or a pair (document, nugget) two
 * grades; that nuggets of a document are not ascending; that a slot of a finished table which is 0 is taken, or that
 * a table has no slot that is 0. After the end nothing is written any more: any number of joins may read.
 */
typedef struct {
    int32_t latest, grade; /* the highest nugget that its rows name yet, and the grade there */
    int32_t kept;          /* its number among those that are kept, or -1 */
    int32_t rows;          /* that are kept; then: where its next pair goes */
} Judged;

typedef struct {
    uint32_t document;
    int32_t nugget, grade;
} Judgement;

typedef struct {
    Lines lines;
    int32_t floor, grade_limit;
    int one_nugget_a_document;
    int64_t rows;
    Names queries;
    Scratch listed, below;                       /* int32_t a query */
    Scratch docs, pairs, id_ends, nugget_ends;   /* int64_t, after a 0 */
    Scratch nugget, grade;                       /* int32_t a pair */
    Scratch ids, nugget_ids;                     /* bytes */
    Scratch table, tables;                       /* uint64_t a slot; size_t a query and one more: where it begins */
    size_t n_docs, n_pairs, n_nuggets, n_id_bytes, n_nugget_bytes, n_slots;
    /* the query at hand */
    Names documents, nuggets, known; /* known: (document, nugget) of all rows, once nuggets did not ascend */
    int ascending;
    int32_t current; /* the nugget of the row before */
    Scratch judged, kept, judgements, sorted, counts;
    size_t n_kept, n_rows, n_rows_kept;
} Qrels;

#define NOT_KEPT 1 /* in a slot, in place of a document's number + 2 */

/* A slot holds as much of the hash as there is room above the number; what is cut off is what its place says. */
static inline int bits_of_numbers(int64_t kept)
{
    return 64 - zeros_above((uint64_t)kept + 2);
}

static inline size_t slot_of(uint64_t hash, size_t slots)
{
    return (size_t)((hash >> 32) * (uint64_t)slots >> 32);
}

/* Every row names a pair that no row before it does, unless it repeats one; tell which, by a table of pairs that is
 * made when nuggets of a document do not ascend for the first time in the query. */
static int qrels_known(Qrels *qrels, uint32_t document, int32_t nugget, int64_t *row)
{
    const Judgement *rows = qrels->judgements.items;
    unsigned char key[16] = {0};
    if (qrels->ascending) {
        if (names_empty(&qrels->known) < 0)
            return NO_MEMORY;
        for (size_t at = 0; at < qrels->n_rows; at++) {
            memcpy(key, &rows[at].document, 4);
            memcpy(key + 4, &rows[at].nugget, 4);
            if (names_add(&qrels->known, key, 8, hash_of(&qrels->lines.seed, key, 8)) < 0)
                return NO_MEMORY;
        }
        qrels->ascending = 0;
    }
    memcpy(key, &document, 4);
    memcpy(key + 4, &nugget, 4);
    uint64_t hash = hash_of(&qrels->lines.seed, key, 8);
    *row = names_find(&qrels->known, key, 8, hash);
    return *row < 0 && names_add(&qrels->known, key, 8, hash) < 0 ? NO_MEMORY : FINE;
}

/* Put the rows in the order of their nuggets, those of a nugget as they stand. */
static int qrels_by_nugget(Qrels *qrels)
{
    size_t nuggets = qrels->nuggets.count;
    if (scratch_room(&qrels->sorted, qrels->n_rows, sizeof(Judgement)) < 0 ||
        scratch_room(&qrels->counts, nuggets + 1, sizeof(size_t)) < 0)
        return NO_MEMORY;
    const Judgement *rows = qrels->judgements.items;
    Judgement *sorted = qrels->sorted.items;
    size_t *begin = qrels->counts.items;
    memset(begin, 0, (nuggets + 1) * sizeof(size_t));
    for (size_t at = 0; at < qrels->n_rows; at++)
        begin[rows[at].nugget + 1]++;
    for (size_t at = 0; at < nuggets; at++)
        begin[at + 1] += begin[at];
    for (size_t at = 0; at < qrels->n_rows; at++)
        sorted[begin[rows[at].nugget]++] = rows[at];
    Scratch swapped = qrels->sorted;
    qrels->sorted = qrels->judgements;
    qrels->judgements = swapped;
    return FINE;
}

/* Append the ids of the documents that are kept, and their pairs by nugget. */
static int qrels_close_documents(Qrels *qrels)
{
    size_t docs = qrels->n_docs + qrels->n_kept, pairs = qrels->n_pairs + qrels->n_rows_kept;
    size_t id_bytes = ((size_t *)qrels->documents.ends.items)[qrels->documents.count];
    if (scratch_room(&qrels->pairs, docs + 1, sizeof(int64_t)) < 0 ||
        scratch_room(&qrels->id_ends, docs + 1, sizeof(int64_t)) < 0 ||
        scratch_room(&qrels->ids, qrels->n_id_bytes + id_bytes, 1) < 0 ||
        scratch_room(&qrels->nugget, pairs, sizeof(int32_t)) < 0 ||
        scratch_room(&qrels->grade, pairs, sizeof(int32_t)) < 0)
        return NO_MEMORY;
    Judged *judged = qrels->judged.items;
    const uint32_t *kept = qrels->kept.items;
    int64_t *begin = (int64_t *)qrels->pairs.items + qrels->n_docs;
    int64_t *ends = (int64_t *)qrels->id_ends.items + qrels->n_docs;
    int32_t next = 0;
    for (size_t at = 0; at < qrels->n_kept; at++) {
        size_t length;
        const unsigned char *id = names_at(&qrels->documents, kept[at], &length);
        memcpy((unsigned char *)qrels->ids.items + qrels->n_id_bytes, id, length);
        ends[at + 1] = (int64_t)(qrels->n_id_bytes += length);
        int32_t rows = judged[kept[at]].rows;
        judged[kept[at]].rows = next;
        begin[at + 1] = (int64_t)qrels->n_pairs + (next += rows);
    }
    const Judgement *rows = qrels->judgements.items;
    int32_t *nugget = (int32_t *)qrels->nugget.items + qrels->n_pairs;
    int32_t *grade = (int32_t *)qrels->grade.items + qrels->n_pairs;
    for (size_t at = 0; at < qrels->n_rows; at++)
        if (rows[at].grade >= qrels->floor) {
            int32_t place = judged[rows[at].document].rows++;
            nugget[place] = rows[at].nugget;
            grade[place] = rows[at].grade;
        }
    qrels->n_docs = docs;
    qrels->n_pairs = pairs;
    return FINE;
}

/* Append the table of all judged documents of the query. */
static int qrels_close_table(Qrels *qrels)
{
    size_t count = qrels->documents.count, slots = count + count / 2 + 2, query = qrels->queries.count - 1;
    if (scratch_room(&qrels->table, qrels->n_slots + slots, sizeof(uint64_t)) < 0 ||
        scratch_room(&qrels->tables, query + 2, sizeof(size_t)) < 0)
        return NO_MEMORY;
    uint64_t *table = (uint64_t *)qrels->table.items + qrels->n_slots;
    const uint64_t *hashes = qrels->documents.hashes.items;
    const Judged *judged = qrels->judged.items;
    int bits = bits_of_numbers((int64_t)qrels->n_kept);
    memset(table, 0, slots * sizeof(uint64_t));
    for (size_t at = 0; at < count; at++) {
        size_t place = slot_of(hashes[at], slots);
        while (table[place])
            place = place + 1 < slots ? place + 1 : 0;
        table[place] = hashes[at] << bits | (judged[at].kept < 0 ? NOT_KEPT : (uint64_t)judged[at].kept + 2);
    }
    qrels->n_slots += slots;
    ((size_t *)qrels->tables.items)[query + 1] = qrels->n_slots;
    return FINE;
}

static int qrels_close_nuggets(Qrels *qrels)
{
    size_t count = qrels->nuggets.count;
    const size_t *ends = qrels->nuggets.ends.items;
    if (scratch_room(&qrels->nugget_ids, qrels->n_nugget_bytes + ends[count], 1) < 0 ||
        scratch_room(&qrels->nugget_ends, qrels->n_nuggets + count + 1, sizeof(int64_t)) < 0)
        return NO_MEMORY;
    if (ends[count])
        memcpy((char *)qrels->nugget_ids.items + qrels->n_nugget_bytes, qrels->nuggets.bytes.items, ends[count]);
    for (size_t at = 1; at <= count; at++)
        ((int64_t *)qrels->nugget_ends.items)[qrels->n_nuggets + at] = (int64_t)(qrels->n_nugget_bytes + ends[at]);
    qrels->n_nuggets += count;
    qrels->n_nugget_bytes += ends[count];
    return FINE;
}

/* Finish the query at hand, if there is one. */
static int qrels_close(Qrels *qrels)
{
    size_t query = qrels->queries.count;
    if (!query--)
        return FINE;
    if (scratch_room(&qrels->listed, query + 1, sizeof(int32_t)) < 0 ||
        scratch_room(&qrels->below, query + 1, sizeof(int32_t)) < 0 ||
        scratch_room(&qrels->docs, query + 2, sizeof(int64_t)) < 0 ||
        (!qrels->ascending && qrels_by_nugget(qrels) < 0) || qrels_close_documents(qrels) < 0 ||
        qrels_close_table(qrels) < 0 || qrels_close_nuggets(qrels) < 0)
        return NO_MEMORY;
    ((int32_t *)qrels->listed.items)[query] = (int32_t)qrels->nuggets.count;
    ((int32_t *)qrels->below.items)[query] = (int32_t)(qrels->documents.count - qrels->n_kept);
    ((int64_t *)qrels->docs.items)[query + 1] = (int64_t)qrels->n_docs;
    qrels->rows += (int64_t)qrels->n_rows;
    return FINE;
}

static int qrels_open(Qrels *qrels, Field id)
{
    uint64_t hash = hash_of(&qrels->lines.seed, id.start, id.length);
    if (names_find(&qrels->queries, id.start, id.length, hash) >= 0)
        return APART;
    if (qrels_close(qrels) < 0 || names_add(&qrels->queries, id.start, id.length, hash) < 0 ||
        names_empty(&qrels->documents) < 0 || names_empty(&qrels->nuggets) < 0)
        return NO_MEMORY;
    qrels->n_kept = qrels->n_rows = qrels->n_rows_kept = 0;
    qrels->ascending = 1;
    qrels->current = -1;
    return FINE;
}

/* The number of a row's nugget; below 0: no memory. Mostly that of the row before. */
static inline int32_t qrels_nugget(Qrels *qrels, Field id)
{
    if (qrels->current >= 0 && names_is(&qrels->nuggets, (size_t)qrels->current, id.start, id.length))
        return qrels->current;
    uint64_t hash = hash_of(&qrels->lines.seed, id.start, id.length);
    int64_t number = names_find(&qrels->nuggets, id.start, id.length, hash);
    if (number < 0)
        number = names_add(&qrels->nuggets, id.start, id.length, hash);
    return qrels->current = (int32_t)number;
}

/* The number of a row's document; below 0: no memory. */
static inline int64_t qrels_document(Qrels *qrels, Field id)
{
    uint64_t hash = hash_of(&qrels->lines.seed, id.start, id.length);
    int64_t number = names_find(&qrels->documents, id.start, id.length, hash);
    if (number >= 0)
        return number;
    size_t count = qrels->documents.count;
    if (scratch_room(&qrels->judged, count + 1, sizeof(Judged)) < 0)
        return -1;
    ((Judged *)qrels->judged.items)[count] = (Judged){-1, 0, -1, 0};
    return names_add(&qrels->documents, id.start, id.length, hash);
}

static int qrels_append(Qrels *qrels, uint32_t document, int32_t nugget, int32_t grade)
{
    if (qrels->n_rows >= INT32_MAX || scratch_room(&qrels->judgements, qrels->n_rows + 1, sizeof(Judgement)) < 0 ||
        scratch_room(&qrels->kept, qrels->n_kept + 1, sizeof(uint32_t)) < 0)
        return NO_MEMORY;
    ((Judgement *)qrels->judgements.items)[qrels->n_rows++] = (Judgement){document, nugget, grade};
    Judged *judged = (Judged *)qrels->judged.items + document;
    if (nugget > judged->latest) {
        judged->latest = nugget;
        judged->grade = grade;
    }
    if (grade < qrels->floor)
        return FINE;
    if (judged->kept < 0) {
        judged->kept = (int32_t)qrels->n_kept;
        ((uint32_t *)qrels->kept.items)[qrels->n_kept++] = document;
    }
    judged->rows++;
    qrels->n_rows_kept++;
    return FINE;
}

static int qrels_row(Lines *lines, const Field *fields)
{
    Qrels *qrels = (Qrels *)lines;
    int32_t grade;
    int code;
    if (fields[0].length > lines->id_limit || fields[1].length > lines->id_limit ||
        fields[2].length > lines->id_limit || !grade_of(fields[3], qrels->grade_limit, &grade))
        return ODD;
    size_t queries = qrels->queries.count;
    if (!queries || !names_is(&qrels->queries, queries - 1, fields[0].start, fields[0].length))
        if ((code = qrels_open(qrels, fields[0])) != FINE)
            return code;
    int32_t nugget = qrels_nugget(qrels, fields[1]);
    int64_t document = nugget < 0 ? -1 : qrels_document(qrels, fields[2]), before = -1;
    if (document < 0)
        return NO_MEMORY;
    const Judged *judged = (const Judged *)qrels->judged.items + document;
    if (nugget == judged->latest)
        return grade == judged->grade ? FINE : CONTRADICTED;
    if (judged->latest >= 0)
        qrels->one_nugget_a_document = 0;
    if (nugget < judged->latest || !qrels->ascending) {
        if ((code = qrels_known(qrels, (uint32_t)document, nugget, &before)) != FINE)
            return code;
        if (before >= 0)
            return grade == ((Judgement *)qrels->judgements.items)[before].grade ? FINE : CONTRADICTED;
    }
    return qrels_append(qrels, (uint32_t)document, nugget, grade);
}

static void qrels_forget(Qrels *qrels) /* what only building needs */
{
    Scratch *all[] = {&qrels->lines.text, &qrels->lines.separators, &qrels->judged, &qrels->kept,
                      &qrels->judgements, &qrels->sorted,           &qrels->counts};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        scratch_free(all[at]);
    names_free(&qrels->documents);
    names_free(&qrels->nuggets);
    names_free(&qrels->known);
}

static void qrels_free(Qrels *qrels)
{
    Scratch *all[] = {&qrels->listed, &qrels->below,      &qrels->docs,  &qrels->pairs,
                      &qrels->ids,    &qrels->id_ends,    &qrels->table, &qrels->nugget,
                      &qrels->grade,  &qrels->nugget_ids, &qrels->tables, &qrels->nugget_ends};
    qrels_forget(qrels);
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        scratch_free(all[at]);
    names_free(&qrels->queries);
    free(qrels);
}

/* Finish the last query and give back the memory that is not needed. */
static int qrels_finish(Qrels *qrels)
{
    int64_t queries = (int64_t)qrels->queries.count, docs = (int64_t)qrels->n_docs;
    if (qrels_close(qrels) < 0)
        return NO_MEMORY;
    docs = (int64_t)qrels->n_docs;
    qrels_forget(qrels);
    scratch_shrink(&qrels->listed, (size_t)queries, sizeof(int32_t));
    scratch_shrink(&qrels->below, (size_t)queries, sizeof(int32_t));
    scratch_shrink(&qrels->docs, (size_t)queries + 1, sizeof(int64_t));
    scratch_shrink(&qrels->tables, (size_t)queries + 1, sizeof(size_t));
    scratch_shrink(&qrels->pairs, (size_t)docs + 1, sizeof(int64_t));
    scratch_shrink(&qrels->id_ends, (size_t)docs + 1, sizeof(int64_t));
    scratch_shrink(&qrels->nugget, qrels->n_pairs, sizeof(int32_t));
    scratch_shrink(&qrels->grade, qrels->n_pairs, sizeof(int32_t));
    scratch_shrink(&qrels->ids, qrels->n_id_bytes, 1);
    scratch_shrink(&qrels->table, qrels->n_slots, sizeof(uint64_t));
    scratch_shrink(&qrels->nugget_ids, qrels->n_nugget_bytes, 1);
    scratch_shrink(&qrels->nugget_ends, qrels->n_nuggets + 1, sizeof(int64_t));
    return FINE;
}

/* ------------------------------------------------------------------------------------------------ join
 * In: rows of a run, a query's rows together, and judgements that are at their end. Out: where the judged documents
 * stand, and what was counted. Only the query at hand is kept.
 * Never true: that a query has two stretches, or a document two rows in one; that a hit is said whose id was not
 * compared byte by byte; that hits of a query are not ascending by rank.
 */
typedef struct {
    double score;
    size_t document;
} Row;

typedef struct {
    Lines lines;
    PyObject *capsule; /* of the judgements */
    const Qrels *qrels;
    int64_t deepest; /* below 0: all */
    Scratch cutoffs, tied_at; /* int32_t, int64_t */
    size_t n_cutoffs;
    int32_t largest; /* cutoff; 0 without one */
    Names queries;
    Scratch asked, length, judged, hits; /* int32_t, int64_t, int64_t, and int64_t after a 0 */
    Scratch rank, doc;                   /* int32_t a hit */
    size_t n_asked, n_hits;
    int64_t rows, rank_conflicts, shown, shown_judged;
    /* the query at hand */
    Names documents;
    Scratch ranking, spare; /* Row */
    size_t n_rows;
    int32_t last_rank;
    int sorted, conflict;
} Join;

static inline int precedes(const Join *join, const Row *one, const Row *other)
{
    if (one->score != other->score)
        return one->score > other->score;
    size_t length, other_length;
    const unsigned char *id = names_at(&join->documents, one->document, &length);
    const unsigned char *other_id = names_at(&join->documents, other->document, &other_length);
    int sign = memcmp(id, other_id, length < other_length ? length : other_length);
    return sign ? sign > 0 : length > other_length;
}

/* Sort by merging; `spare` has room for half of the rows. */
static void sort_rows(const Join *join, Row *rows, size_t count, Row *spare)
{
    if (count <= 8) {
        for (size_t at = 1; at < count; at++) {
            Row moved = rows[at];
            size_t place = at;
            for (; place && precedes(join, &moved, &rows[place - 1]); place--)
                rows[place] = rows[place - 1];
            rows[place] = moved;
        }
        return;
    }
    size_t half = count / 2;
    sort_rows(join, rows, half, spare);
    sort_rows(join, rows + half, count - half, spare);
    if (precedes(join, &rows[half - 1], &rows[half]))
        return;
    memcpy(spare, rows, half * sizeof(Row));
    const Row *left = spare, *left_end = spare + half, *right = rows + half, *right_end = rows + count;
    while (left < left_end && right < right_end) {
        int from_left = precedes(join, left, right);
        *rows++ = *(from_left ? left : right);
        left += from_left;
        right += !from_left;
    }
    memcpy(rows, left, (size_t)(left_end - left) * sizeof(Row));
}

/* The number of a document of a query of the judgements; NOT_KEPT - 2 if it is judged, NOT_JUDGED if not. */
#define NOT_JUDGED (-2)
static inline int64_t judged_as(const Qrels *qrels, int64_t query, uint64_t hash, const unsigned char *id,
                                size_t length)
{
    const size_t *tables = (const size_t *)qrels->tables.items + query;
    const uint64_t *table = (const uint64_t *)qrels->table.items + tables[0];
    const int64_t *docs = (const int64_t *)qrels->docs.items + query;
    size_t slots = tables[1] - tables[0], at = slot_of(hash, slots);
    int bits = bits_of_numbers(docs[1] - docs[0]);
    uint64_t wanted = hash << bits >> bits;
    for (; table[at]; at = at + 1 < slots ? at + 1 : 0) {
        if (table[at] >> bits != wanted)
            continue;
        int64_t number = (int64_t)(table[at] & (((uint64_t)1 << bits) - 1)) - 2;
        if (number < 0)
            return number;
        const int64_t *ends = (const int64_t *)qrels->id_ends.items + docs[0] + number;
        if ((size_t)(ends[1] - ends[0]) == length && !memcmp((const char *)qrels->ids.items + ends[0], id, length))
            return number;
    }
    return NOT_JUDGED;
}

/* Note where the documents of a judged query stand. */
static int join_hits(Join *join, int64_t query)
{
    const Row *rows = join->ranking.items;
    const uint64_t *hashes = join->documents.hashes.items;
    int64_t judged = 0, count = (int64_t)join->n_rows;
    for (int64_t at = 0; at < count; at++) {
        size_t length, document = rows[at].document;
        const unsigned char *id = names_at(&join->documents, document, &length);
        int64_t number = judged_as(join->qrels, query, hashes[document], id, length);
        if (number == NOT_JUDGED)
            continue;
        judged++;
        join->shown_judged += at < join->largest;
        if (number < 0 || (join->deepest >= 0 && at >= join->deepest))
            continue;
        if (scratch_room(&join->rank, join->n_hits + 1, sizeof(int32_t)) < 0 ||
            scratch_room(&join->doc, join->n_hits + 1, sizeof(int32_t)) < 0)
            return NO_MEMORY;
        ((int32_t *)join->rank.items)[join->n_hits] = (int32_t)at + 1;
        ((int32_t *)join->doc.items)[join->n_hits++] = (int32_t)number;
    }
    size_t asked = join->n_asked++;
    if (scratch_room(&join->asked, asked + 1, sizeof(int32_t)) < 0 ||
        scratch_room(&join->length, asked + 1, sizeof(int64_t)) < 0 ||
        scratch_room(&join->judged, asked + 1, sizeof(int64_t)) < 0 ||
        scratch_room(&join->hits, asked + 2, sizeof(int64_t)) < 0)
        return NO_MEMORY;
    ((int32_t *)join->asked.items)[asked] = (int32_t)query;
    ((int64_t *)join->length.items)[asked] = count;
    ((int64_t *)join->judged.items)[asked] = judged;
    ((int64_t *)join->hits.items)[asked + 1] = (int64_t)join->n_hits;
    join->shown += count < join->largest ? count : join->largest;
    return FINE;
}

/* Finish the query at hand, if there is one. */
static int join_close(Join *join)
{
    size_t count = join->n_rows;
    if (!count)
        return FINE;
    if (!join->sorted) {
        if (scratch_room(&join->spare, count / 2 + 1, sizeof(Row)) < 0)
            return NO_MEMORY;
        sort_rows(join, join->ranking.items, count, join->spare.items);
    }
    const Row *rows = join->ranking.items;
    for (size_t at = 0; at < join->n_cutoffs; at++) {
        size_t cutoff = (size_t)((int32_t *)join->cutoffs.items)[at];
        ((int64_t *)join->tied_at.items)[at] += cutoff < count && rows[cutoff - 1].score == rows[cutoff].score;
    }
    join->rows += (int64_t)count;
    join->rank_conflicts += join->conflict;
    size_t length;
    const unsigned char *id = names_at(&join->queries, join->queries.count - 1, &length);
    uint64_t hash = ((uint64_t *)join->queries.hashes.items)[join->queries.count - 1];
    int64_t query = names_find(&join->qrels->queries, id, length, hash);
    return query < 0 ? FINE : join_hits(join, query);
}

static int join_open(Join *join, Field id)
{
    uint64_t hash = hash_of(&join->lines.seed, id.start, id.length);
    if (names_find(&join->queries, id.start, id.length, hash) >= 0)
        return APART;
    if (join_close(join) < 0 || names_add(&join->queries, id.start, id.length, hash) < 0 ||
        names_empty(&join->documents) < 0)
        return NO_MEMORY;
    join->n_rows = 0;
    join->sorted = 1;
    join->conflict = 0;
    return FINE;
}

static int join_row(Lines *lines, const Field *fields)
{
    Join *join = (Join *)lines;
    Row row;
    if (fields[0].length > lines->id_limit || fields[2].length > lines->id_limit ||
        !score_of(lines, fields[4], &row.score))
        return ODD;
    size_t queries = join->queries.count;
    if (!queries || !names_is(&join->queries, queries - 1, fields[0].start, fields[0].length)) {
        int code = join_open(join, fields[0]);
        if (code != FINE)
            return code;
    }
    Field id = fields[2];
    uint64_t hash = hash_of(&lines->seed, id.start, id.length);
    if (names_find(&join->documents, id.start, id.length, hash) >= 0)
        return TWICE;
    row.document = join->documents.count;
    if (names_add(&join->documents, id.start, id.length, hash) < 0 ||
        scratch_room(&join->ranking, join->n_rows + 1, sizeof(Row)) < 0)
        return NO_MEMORY;
    int32_t rank = rank_of(fields[3]);
    Row *next = (Row *)join->ranking.items + join->n_rows;
    if (join->n_rows++) {
        const Row *before = next - 1;
        if (rank >= 0 && join->last_rank >= 0)
            join->conflict |= (rank > join->last_rank && row.score > before->score) ||
                              (rank < join->last_rank && row.score < before->score);
        join->sorted = join->sorted && precedes(join, before, &row);
    }
    join->last_rank = rank;
    *next = row;
    return FINE;
}

/* Finish the last query and give back the memory that is not needed. */
static int join_finish(Join *join)
{
    if (join_close(join) < 0)
        return NO_MEMORY;
    Scratch *all[] = {&join->lines.text, &join->lines.separators, &join->ranking, &join->spare};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        scratch_free(all[at]);
    names_free(&join->documents);
    scratch_shrink(&join->rank, join->n_hits, sizeof(int32_t));
    scratch_shrink(&join->doc, join->n_hits, sizeof(int32_t));
    return FINE;
}

static void join_free(Join *join)
{
    Scratch *all[] = {&join->lines.text, &join->lines.separators, &join->cutoffs, &join->tied_at, &join->asked,
                      &join->length,     &join->judged,           &join->hits,    &join->rank,    &join->doc,
                      &join->ranking,    &join->spare};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        scratch_free(all[at]);
    names_free(&join->queries);
    names_free(&join->documents);
    Py_XDECREF(join->capsule);
    free(join);
}

/* ------------------------------------------------------------------------------------- what is handed over
 * A column of memory that its owner keeps as it is: never written again, never moved, and there as long as anybody
 * looks at the column.
 */
typedef struct {
    PyObject_HEAD
    PyObject *owner;
    const void *items;
    Py_ssize_t length, width;
    char format[2];
} Shown;

typedef struct {
    PyObject *shown; /* its type */
} State;

static int shown_get(PyObject *self, Py_buffer *view, int flags)
{
    Shown *shown = (Shown *)self;
    if (PyBuffer_FillInfo(view, self, (void *)shown->items, shown->length * shown->width, 1, flags) < 0)
        return -1;
    view->itemsize = shown->width;
    view->format = flags & PyBUF_FORMAT ? shown->format : NULL;
    view->shape = flags & PyBUF_ND ? &shown->length : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &shown->width : NULL;
    return 0;
}

static void shown_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((Shown *)self)->owner);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot shown_slots[] = {
    {Py_tp_dealloc, (void *)shown_dealloc},
    {Py_bf_getbuffer, (void *)shown_get},
    {0, NULL},
};

static PyType_Spec shown_spec = {
    "rageval._kernel.Shown", sizeof(Shown), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, shown_slots,
};

static PyObject *show(PyObject *module, PyObject *owner, const Scratch *items, size_t count, char format)
{
    PyTypeObject *type = (PyTypeObject *)((State *)PyModule_GetState(module))->shown;
    Shown *shown = (Shown *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (!shown)
        return NULL;
    Py_INCREF(owner);
    shown->owner = owner;
    shown->items = items->items ? items->items : shown->format;
    shown->length = (Py_ssize_t)count;
    shown->width = format == 'q' ? 8 : format == 'i' ? 4 : 1;
    shown->format[0] = format;
    PyObject *view = PyMemoryView_FromObject((PyObject *)shown);
    Py_DECREF(shown);
    return view;
}

/* ------------------------------------------------------------------------- readers as Python sees them */
#define QRELS_NAME "rageval._kernel.qrels"
#define JOIN_NAME "rageval._kernel.join"

/* Feed all rows of a chunk; a code other than FINE, and nothing more may be fed. Called with a constant `row`,
 * so that the compiler makes one loop of it. */
static inline int lines_feed(Lines *lines, int (*row)(Lines *, const Field *), const unsigned char *chunk,
                             size_t length)
{
    Field fields[WIDEST];
    while (length) {
        size_t taken = 0;
        int code = lines_take(lines, chunk, length, &taken), blank;
        while (code == FINE && lines->next < lines->n_separators) {
            code = lines_next(lines, fields, &blank);
            if (code == FINE && !blank)
                code = row(lines, fields);
        }
        if (code != FINE)
            return code;
        chunk += taken;
        length -= taken;
    }
    return FINE;
}

static int qrels_feed_all(Lines *lines, const unsigned char *chunk, size_t length)
{
    return lines_feed(lines, qrels_row, chunk, length);
}

static int join_feed_all(Lines *lines, const unsigned char *chunk, size_t length)
{
    return lines_feed(lines, join_row, chunk, length);
}

static int lines_ready(const Lines *lines)
{
    static const char *const why[] = {"", "another thread is feeding", "it has given a code other than 0",
                                      "it is at its end"};
    if (lines->state == READING)
        return 1;
    PyErr_Format(PyExc_RuntimeError, "nothing more can be read here: %s", why[lines->state]);
    return 0;
}

static PyObject *feed(PyObject *args, const char *name, int (*feed_all)(Lines *, const unsigned char *, size_t))
{
    PyObject *capsule;
    Py_buffer chunk;
    int code;
    if (!PyArg_ParseTuple(args, "Oy*:feed", &capsule, &chunk))
        return NULL;
    Lines *lines = PyCapsule_GetPointer(capsule, name);
    if (!lines || !lines_ready(lines)) {
        PyBuffer_Release(&chunk);
        return NULL;
    }
    lines->state = BUSY;
    lines->thread = PyEval_SaveThread();
    code = feed_all(lines, chunk.buf, (size_t)chunk.len);
    PyEval_RestoreThread(lines->thread);
    lines->state = code == FINE ? READING : FAILED;
    PyBuffer_Release(&chunk);
    return code == NO_MEMORY ? PyErr_NoMemory() : PyLong_FromLong(code);
}

static int start(Scratch *column) /* with a 0 */
{
    if (scratch_room(column, 1, sizeof(int64_t)) < 0)
        return -1;
    *(int64_t *)column->items = 0;
    return 0;
}

static int32_t clamped(long long number)
{
    return number > INT32_MAX ? INT32_MAX : number < INT32_MIN ? INT32_MIN : (int32_t)number;
}

static void qrels_drop(PyObject *capsule)
{
    qrels_free(PyCapsule_GetPointer(capsule, QRELS_NAME));
}

static void join_drop(PyObject *capsule)
{
    join_free(PyCapsule_GetPointer(capsule, JOIN_NAME));
}

PyDoc_STRVAR(qrels_new_doc,
             "qrels_new(floor, seed, id_limit, line_limit, grade_limit, tabbed)\n"
             "--\n\n"
             "Return a reader of judgements that keeps those of `floor` or more. `seed`: 16 secret bytes.");

static PyObject *qrels_new(PyObject *Py_UNUSED(module), PyObject *args)
{
    long long floor, grade_limit;
    Py_ssize_t id_limit, line_limit, seed_length;
    const unsigned char *seed;
    int tabbed;
    if (!PyArg_ParseTuple(args, "Ly#nnLp:qrels_new", &floor, &seed, &seed_length, &id_limit, &line_limit,
                          &grade_limit, &tabbed))
        return NULL;
    if (seed_length != 16 || id_limit < 0 || line_limit < 0) {
        PyErr_SetString(PyExc_ValueError, "expected a seed of 16 bytes and limits of 0 or more");
        return NULL;
    }
    Qrels *qrels = calloc(1, sizeof(Qrels));
    if (!qrels)
        return PyErr_NoMemory();
    qrels->lines.seed = (Seed){load64(seed), load64(seed + 8)};
    qrels->lines.id_limit = (size_t)id_limit;
    qrels->lines.line_limit = (size_t)line_limit;
    qrels->lines.width = 4;
    qrels->lines.tabbed = tabbed;
    qrels->floor = clamped(floor);
    qrels->grade_limit = clamped(grade_limit);
    qrels->one_nugget_a_document = 1;
    Scratch *begins[] = {&qrels->docs, &qrels->pairs, &qrels->id_ends, &qrels->nugget_ends, &qrels->tables};
    int failed = names_empty(&qrels->queries) < 0;
    for (size_t at = 0; at < sizeof begins / sizeof begins[0]; at++)
        failed |= start(begins[at]) < 0;
    PyObject *capsule = failed ? PyErr_NoMemory() : PyCapsule_New(qrels, QRELS_NAME, qrels_drop);
    if (!capsule)
        qrels_free(qrels);
    return capsule;
}

PyDoc_STRVAR(qrels_feed_doc,
             "qrels_feed(qrels, chunk)\n"
             "--\n\n"
             "Read whole lines. Return 0, or 1 if something is odd, 2 if a query's rows lie apart, 3 if judgements\n"
             "contradict each other; after these nothing more can be read.");

static PyObject *qrels_feed(PyObject *Py_UNUSED(module), PyObject *args)
{
    return feed(args, QRELS_NAME, qrels_feed_all);
}

PyDoc_STRVAR(qrels_end_doc,
             "qrels_end(qrels)\n"
             "--\n\n"
             "Return (rows, one_nugget_a_document, query ids, listed, below, docs, pairs, nugget, grade, ids, id_ends,\n"
             "nugget_ids, nugget_ends). From now on runs can be joined.");

static PyObject *qrels_end(PyObject *module, PyObject *capsule)
{
    Qrels *qrels = PyCapsule_GetPointer(capsule, QRELS_NAME);
    if (!qrels || !lines_ready(&qrels->lines))
        return NULL;
    qrels->lines.state = FAILED;
    if (qrels_finish(qrels) < 0)
        return PyErr_NoMemory();
    qrels->lines.state = ENDED;
    size_t queries = qrels->queries.count;
    return Py_BuildValue("(LNNNNNNNNNNNN)", (long long)qrels->rows,
                         PyBool_FromLong(qrels->one_nugget_a_document), names_list(&qrels->queries),
                         show(module, capsule, &qrels->listed, queries, 'i'),
                         show(module, capsule, &qrels->below, queries, 'i'),
                         show(module, capsule, &qrels->docs, queries + 1, 'q'),
                         show(module, capsule, &qrels->pairs, qrels->n_docs + 1, 'q'),
                         show(module, capsule, &qrels->nugget, qrels->n_pairs, 'i'),
                         show(module, capsule, &qrels->grade, qrels->n_pairs, 'i'),
                         show(module, capsule, &qrels->ids, qrels->n_id_bytes, 'B'),
                         show(module, capsule, &qrels->id_ends, qrels->n_docs + 1, 'q'),
                         show(module, capsule, &qrels->nugget_ids, qrels->n_nugget_bytes, 'B'),
                         show(module, capsule, &qrels->nugget_ends, qrels->n_nuggets + 1, 'q'));
}

/* Copy the cut-offs: ranks from 1, ascending. */
static int join_cutoffs(Join *join, PyObject *given)
{
    Column column;
    memset(&column, 0, sizeof column);
    int failed = column_open(&column, given, "cutoffs", "il", sizeof(int32_t)) < 0;
    size_t count = failed ? 0 : (size_t)column.length;
    if (!failed && (scratch_room(&join->cutoffs, count + 1, sizeof(int32_t)) < 0 ||
                    scratch_room(&join->tied_at, count + 1, sizeof(int64_t)) < 0)) {
        PyErr_NoMemory();
        failed = 1;
    }
    if (!failed && count) {
        memcpy(join->cutoffs.items, column.view.buf, count * sizeof(int32_t));
        memset(join->tied_at.items, 0, count * sizeof(int64_t));
    }
    columns_close(&column, 1);
    for (size_t at = 0; at < count && !failed; at++) {
        int32_t cutoff = ((int32_t *)join->cutoffs.items)[at];
        failed = cutoff <= join->largest;
        if (failed)
            PyErr_SetString(PyExc_ValueError, "cutoffs: expected ranks from 1, ascending");
        join->largest = cutoff;
    }
    join->n_cutoffs = count;
    return failed ? -1 : 0;
}

PyDoc_STRVAR(join_new_doc,
             "join_new(qrels, deepest, cutoffs, id_limit, line_limit, tabbed)\n"
             "--\n\n"
             "Return a reader of a run that meets judgements at their end. Hits below rank `deepest` are dropped\n"
             "(-1: none). Several readers may share the judgements.");

static PyObject *join_new(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *shared, *cutoffs;
    long long deepest;
    Py_ssize_t id_limit, line_limit;
    int tabbed;
    if (!PyArg_ParseTuple(args, "OLOnnp:join_new", &shared, &deepest, &cutoffs, &id_limit, &line_limit, &tabbed))
        return NULL;
    const Qrels *qrels = PyCapsule_GetPointer(shared, QRELS_NAME);
    if (!qrels)
        return NULL;
    if (qrels->lines.state != ENDED) {
        PyErr_SetString(PyExc_RuntimeError, "the judgements are not at their end");
        return NULL;
    }
    if (id_limit < 0 || line_limit < 0) {
        PyErr_SetString(PyExc_ValueError, "expected limits of 0 or more");
        return NULL;
    }
    Join *join = calloc(1, sizeof(Join));
    if (!join)
        return PyErr_NoMemory();
    join->lines.seed = qrels->lines.seed;
    join->lines.id_limit = (size_t)id_limit;
    join->lines.line_limit = (size_t)line_limit;
    join->lines.width = 6;
    join->lines.tabbed = tabbed;
    join->deepest = deepest;
    Py_INCREF(shared);
    join->capsule = shared;
    join->qrels = qrels;
    PyObject *capsule = NULL;
    if (names_empty(&join->queries) < 0 || start(&join->hits) < 0)
        PyErr_NoMemory();
    else if (join_cutoffs(join, cutoffs) == 0)
        capsule = PyCapsule_New(join, JOIN_NAME, join_drop);
    if (!capsule)
        join_free(join);
    return capsule;
}

PyDoc_STRVAR(join_feed_doc,
             "join_feed(join, chunk)\n"
             "--\n\n"
             "Read whole lines. Return 0, or 1 if something is odd, 2 if a query's rows lie apart, 4 if a query has\n"
             "a document twice; after these nothing more can be read.");

static PyObject *join_feed(PyObject *Py_UNUSED(module), PyObject *args)
{
    return feed(args, JOIN_NAME, join_feed_all);
}

PyDoc_STRVAR(join_end_doc,
             "join_end(join)\n"
             "--\n\n"
             "Return (query ids, asked, length, judged, hits, rank, doc, rows, rank_conflicts, shown, shown_judged,\n"
             "tied_at).");

static PyObject *join_end(PyObject *module, PyObject *capsule)
{
    Join *join = PyCapsule_GetPointer(capsule, JOIN_NAME);
    if (!join || !lines_ready(&join->lines))
        return NULL;
    join->lines.state = FAILED;
    if (join_finish(join) < 0)
        return PyErr_NoMemory();
    join->lines.state = ENDED;
    size_t asked = join->n_asked;
    return Py_BuildValue("(NNNNNNNLLLLN)", names_list(&join->queries),
                         show(module, capsule, &join->asked, asked, 'i'),
                         show(module, capsule, &join->length, asked, 'q'),
                         show(module, capsule, &join->judged, asked, 'q'),
                         show(module, capsule, &join->hits, asked + 1, 'q'),
                         show(module, capsule, &join->rank, join->n_hits, 'i'),
                         show(module, capsule, &join->doc, join->n_hits, 'i'), (long long)join->rows,
                         (long long)join->rank_conflicts, (long long)join->shown, (long long)join->shown_judged,
                         show(module, capsule, &join->tied_at, join->n_cutoffs, 'q'));
}

/* ------------------------------------------------------------------------------------------- the module */
static PyMethodDef functions[] = {
    {"ideal_orders", ideal_orders, METH_VARARGS, ideal_orders_doc},
    {"qrels_new", qrels_new, METH_VARARGS, qrels_new_doc},
    {"qrels_feed", qrels_feed, METH_VARARGS, qrels_feed_doc},
    {"qrels_end", qrels_end, METH_O, qrels_end_doc},
    {"join_new", join_new, METH_VARARGS, join_new_doc},
    {"join_feed", join_feed, METH_VARARGS, join_feed_doc},
    {"join_end", join_end, METH_O, join_end_doc},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module)
{
    State *state = PyModule_GetState(module);
    state->shown = PyType_FromModuleAndSpec(module, &shown_spec, NULL);
    return state->shown ? PyModule_AddIntConstant(module, "INTERFACE", INTERFACE) : -1;
}

static int visit(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    if (state)
        Py_VISIT(state->shown);
    return 0;
}

static int clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    if (state)
        Py_CLEAR(state->shown);
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "rageval._kernel", "The compiled part of rageval.", sizeof(State), functions, slots,
    visit, clear, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&definition);
}
