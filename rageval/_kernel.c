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
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "sums of doubles must be rounded to double; rageval works without this part"
#endif

#define INTERFACE 6 /* what rageval/kernel.py expects; one more whenever a function changes */

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

/* Scratch memory that only grows, and columns that do. Never true: that `items` holds less than the last room asked
 * for; that `count` says anything where nothing was pushed. */
typedef struct {
    void *items;
    size_t room, count;
} Scratch;

#define INTS(column) ((int32_t *)(column).items)
#define LONGS(column) ((int64_t *)(column).items)
#define WORDS(column) ((uint64_t *)(column).items)
#define BYTES(column) ((unsigned char *)(column).items)
#define DOUBLES(column) ((double *)(column).items)

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

static inline int push_int(Scratch *column, int32_t value)
{
    if (scratch_room(column, column->count + 1, sizeof value) < 0)
        return -1;
    INTS(*column)[column->count++] = value;
    return 0;
}

static inline int push_long(Scratch *column, size_t value)
{
    if (scratch_room(column, column->count + 1, sizeof(int64_t)) < 0)
        return -1;
    LONGS(*column)[column->count++] = (int64_t)value;
    return 0;
}

static inline int push_bytes(Scratch *column, const unsigned char *from, size_t length)
{
    if (scratch_room(column, column->count + length + 1, 1) < 0) /* somewhere, even if it is nothing */
        return -1;
    memcpy(BYTES(*column) + column->count, from, length);
    column->count += length;
    return 0;
}

static void scratch_free(Scratch *columns, size_t count)
{
    for (size_t at = 0; at < count; at++)
        free(columns[at].items);
    memset(columns, 0, count * sizeof *columns);
}

/* ------------------------------------------------------------------------------------------ exact sums
 * In: terms from 0, at most as many as `partials` has room for, whose sum no double is too small for. Out: their exact
 * sum, rounded once, half to even, as math.fsum has it (Shewchuk 1997: the sum so far as doubles that do not overlap,
 * the smallest first). Never true: that two equal multisets of terms give different bits, or that a larger term makes
 * the sum smaller.
 */
static double exact_sum(const double *terms, int64_t count, double *partials)
{
    double plain = 0.0;
    int exact = 1;
    for (int64_t at = 0; at < count; at++) {
        double term = terms[at], next = plain + term, share = next - plain;
        exact &= (plain - (next - share)) + (term - share) == 0.0; /* Knuth: what the addition lost */
        plain = next;
    }
    if (exact)
        return plain;
    int64_t used = 0;
    for (int64_t at = 0; at < count; at++) {
        double sum = terms[at];
        int64_t kept = 0;
        for (int64_t part = 0; part < used; part++) {
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
    Scratch nuggets, documents, kinds, terms, partials, seen, order, ends;
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

static inline int waits_before(const Kind *one, const Kind *other)
{
    int equal = one->gain == other->gain;
    if (equal && one->key == other->key)
        return by_id(one->next, other->next) < 0;
    return (one->gain > other->gain) | (equal & (one->key > other->key)); /* no branch: nobody can foresee it */
}

static void sift(Kind *heap, size_t length, size_t at)
{
    Kind moved = heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= length)
            break;
        if (child + 1 < length)
            child += (size_t)waits_before(&heap[child + 1], &heap[child]);
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
    if (scratch_room(&ideal->terms, (size_t)most + 1, sizeof(double)) < 0 ||
        scratch_room(&ideal->partials, (size_t)most + 1, sizeof(double)) < 0)
        return ideal_wrong(ideal, NULL);
    return relevant;
}

static double ideal_gain(Ideal *ideal, const Document *document)
{
    const int32_t *nuggets = document->topic_nuggets + document->first, *seen = ideal->seen.items;
    for (int32_t at = 0; at < document->count; at++)
        DOUBLES(ideal->terms)[at] = ideal->worth[seen[nuggets[at]]];
    return exact_sum(ideal->terms.items, document->count, ideal->partials.items);
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
        kind->gain = ideal_gain(ideal, kind->next);
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
        double now = ideal_gain(ideal, best);
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
    Scratch *all[] = {&ideal.nuggets,  &ideal.documents, &ideal.kinds, &ideal.terms,
                      &ideal.partials, &ideal.seen,      &ideal.order, &ideal.ends};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        scratch_free(all[at], 1);
    free(worth);
    columns_close(columns, COLUMNS);
    return found;
}

/* ------------------------------------------------------------------------------- sums over many rankings
 * In: the judgements of many topics as above, and where judged documents stand in many rankings. Ranking r holds the
 * documents borders[r] to borders[r + 1]; they are numbered from first[r], and stand at the ascending ranks beside
 * them, or at 1, 2, … where there are none. A document gains worth[c] for each of its nuggets graded `rel` or more,
 * c documents above it having it, too; without nuggets it gains worth[g], g being its highest grade, if that is not
 * below 0.
 * Out: for each ranking the sum of gain times discount[rank], to rank k.
 * Never true: that a place behind the end of a column is read or written, whatever the columns hold. The interpreter
 * stands still meanwhile.
 */
enum { OF_FIRST, OF_BORDERS, OF_RANK, OF_DOCUMENT, OF_BEGIN, OF_NUGGET, OF_GRADE, OF_WORTH, OF_DISCOUNT, OF_SUMS };

typedef struct {
    const int64_t *first, *borders, *begin;
    const int32_t *rank, *document, *nugget, *grade;
    const double *worth, *discount;
    int64_t n_documents, n_pairs, n_worth, n_discount, k;
    int32_t n_nuggets, rel;
    Scratch seen, terms, gains, partials;
} Sums;

static int sums_wrong(const char *what)
{
    PyErr_SetString(PyExc_ValueError, what);
    return -1;
}

/* Find the pairs of a document; below 0 if it has none that exist. */
static int sums_pairs(Sums *sums, int64_t document, int64_t *from, int64_t *to)
{
    if (document < 0 || document >= sums->n_documents)
        return sums_wrong("document: expected numbers of documents");
    *from = sums->begin[document];
    *to = sums->begin[document + 1];
    if (*from < 0 || *to < *from || *to > sums->n_pairs)
        return sums_wrong("begin: expected places in the pairs, ascending");
    return 0;
}

/* Put what the nuggets of these pairs are worth into the terms; return how many they are. */
static int64_t sums_terms(Sums *sums, int64_t from, int64_t to)
{
    int64_t count = 0;
    if (scratch_room(&sums->terms, (size_t)(to - from) + 1, sizeof(double)) < 0 ||
        scratch_room(&sums->partials, (size_t)(to - from) + 1, sizeof(double)) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t pair = from; pair < to; pair++) {
        int32_t nugget = sums->nugget[pair];
        if (sums->grade[pair] < sums->rel)
            continue;
        if (nugget < 0 || nugget >= sums->n_nuggets)
            return sums_wrong("nugget: expected numbers below n_nuggets");
        if (INTS(sums->seen)[nugget] >= sums->n_worth)
            return sums_wrong("worth: expected a value for every time that a nugget is seen");
        DOUBLES(sums->terms)[count++] = sums->worth[INTS(sums->seen)[nugget]++];
    }
    return count;
}

/* Reckon what a document gains; below 0 if something is wrong. */
static int sums_gain(Sums *sums, int64_t from, int64_t to, double *gain)
{
    if (sums->nugget) {
        int64_t count = sums_terms(sums, from, to);
        *gain = count > 0 ? exact_sum(sums->terms.items, count, sums->partials.items) : 0.0;
        return count < 0 ? -1 : 0;
    }
    int32_t best = -1;
    for (int64_t pair = from; pair < to; pair++)
        best = sums->grade[pair] > best ? sums->grade[pair] : best;
    if (best >= sums->n_worth)
        return sums_wrong("worth: expected a value for every grade");
    *gain = best < 0 ? 0.0 : sums->worth[best];
    return 0;
}

static int sums_ranking(Sums *sums, int64_t first, int64_t from, int64_t to, double *sum)
{
    int64_t at = from, begin = 0, end = 0, count = 0;
    for (; at < to; at++) {
        int64_t rank = sums->rank ? sums->rank[at] : at - from + 1;
        double gain;
        if (sums->k >= 0 && rank > sums->k)
            break;
        if (rank < 1 || rank >= sums->n_discount)
            return sums_wrong("discount: expected a value for every rank from 1");
        if (sums_pairs(sums, first + sums->document[at], &begin, &end) < 0 || sums_gain(sums, begin, end, &gain) < 0)
            return -1;
        if (gain != 0.0)
            DOUBLES(sums->gains)[count++] = gain * sums->discount[rank];
    }
    for (int64_t done = from; sums->nugget && done < at; done++) {
        sums_pairs(sums, first + sums->document[done], &begin, &end);
        for (int64_t pair = begin; pair < end; pair++)
            if (sums->grade[pair] >= sums->rel)
                INTS(sums->seen)[sums->nugget[pair]] = 0;
    }
    if (scratch_room(&sums->partials, (size_t)count + 1, sizeof(double)) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    *sum = exact_sum(sums->gains.items, count, sums->partials.items);
    return 0;
}

static int sums_all(Sums *sums, const Column *columns, double *found)
{
    int64_t n_hits = columns[OF_DOCUMENT].length, most = 0;
    for (Py_ssize_t ranking = 0; ranking < columns[OF_FIRST].length; ranking++) {
        int64_t from = sums->borders[ranking], to = sums->borders[ranking + 1];
        if (from < 0 || to < from || to > n_hits)
            return sums_wrong("borders: expected places in the documents, ascending");
        most = to - from > most ? to - from : most;
        if (sums->first[ranking] < 0 || sums->first[ranking] > sums->n_documents)
            return sums_wrong("first: expected numbers of documents");
    }
    sums->seen.items = calloc((size_t)sums->n_nuggets + 1, sizeof(int32_t));
    if (!sums->seen.items || scratch_room(&sums->gains, (size_t)most + 1, sizeof(double)) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t ranking = 0; ranking < columns[OF_FIRST].length; ranking++)
        if (sums_ranking(sums, sums->first[ranking], sums->borders[ranking], sums->borders[ranking + 1],
                         &found[ranking]) < 0)
            return -1;
    return 0;
}

static int sums_open(Sums *sums, Column *columns, PyObject **given)
{
    static const char *const names[] = {"first",  "borders", "rank",  "document", "begin",
                                        "nugget", "grade",   "worth", "discount"};
    static const char *const formats[] = {"lq", "lq", "il", "il", "lq", "il", "il", "d", "d"};
    static const Py_ssize_t widths[] = {8, 8, 4, 4, 8, 4, 4, 8, 8};
    for (int at = 0; at < OF_SUMS; at++)
        if (column_open(&columns[at], given[at], names[at], formats[at], widths[at]) < 0)
            return -1;
    if (columns[OF_BORDERS].length != columns[OF_FIRST].length + 1)
        return sums_wrong("borders: expected one number more than there are rankings");
    if (columns[OF_RANK].length && columns[OF_RANK].length != columns[OF_DOCUMENT].length)
        return sums_wrong("rank, document: expected columns of one length");
    if (columns[OF_BEGIN].length < 1)
        return sums_wrong("begin: expected one number more than there are documents");
    if (columns[OF_NUGGET].length && columns[OF_NUGGET].length != columns[OF_GRADE].length)
        return sums_wrong("nugget, grade: expected columns of one length");
    sums->first = columns[OF_FIRST].view.buf;
    sums->borders = columns[OF_BORDERS].view.buf;
    sums->rank = columns[OF_RANK].length ? columns[OF_RANK].view.buf : NULL;
    sums->document = columns[OF_DOCUMENT].view.buf;
    sums->begin = columns[OF_BEGIN].view.buf;
    sums->nugget = columns[OF_NUGGET].length ? columns[OF_NUGGET].view.buf : NULL;
    sums->grade = columns[OF_GRADE].view.buf;
    sums->worth = columns[OF_WORTH].view.buf;
    sums->discount = columns[OF_DISCOUNT].view.buf;
    sums->n_documents = columns[OF_BEGIN].length - 1;
    sums->n_pairs = columns[OF_GRADE].length;
    sums->n_worth = columns[OF_WORTH].length;
    sums->n_discount = columns[OF_DISCOUNT].length;
    return 0;
}

PyDoc_STRVAR(gain_sums_doc,
             "gain_sums(first, borders, rank, document, begin, nugget, grade, worth, discount, n_nuggets, rel, k)\n"
             "--\n\n"
             "Return the sum of gains times discounts of each ranking, to rank k (-1: all), as bytes of doubles.");

static PyObject *gain_sums(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *given[OF_SUMS], *found = NULL;
    Column columns[OF_SUMS];
    Sums sums;
    int n_nuggets, rel;
    long long k;
    memset(columns, 0, sizeof columns);
    memset(&sums, 0, sizeof sums);
    if (!PyArg_ParseTuple(args, "OOOOOOOOOiiL:gain_sums", &given[OF_FIRST], &given[OF_BORDERS], &given[OF_RANK],
                          &given[OF_DOCUMENT], &given[OF_BEGIN], &given[OF_NUGGET], &given[OF_GRADE],
                          &given[OF_WORTH], &given[OF_DISCOUNT], &n_nuggets, &rel, &k))
        return NULL;
    sums.n_nuggets = n_nuggets;
    sums.rel = rel;
    sums.k = k;
    if (n_nuggets < 0)
        return PyErr_Format(PyExc_ValueError, "n_nuggets: expected 0 or more, found %d", n_nuggets);
    if (sums_open(&sums, columns, given) == 0)
        found = PyBytes_FromStringAndSize(NULL, columns[OF_FIRST].length * (Py_ssize_t)sizeof(double));
    if (found && sums_all(&sums, columns, (double *)PyBytes_AsString(found)) < 0)
        Py_CLEAR(found);
    Scratch *all[] = {&sums.seen, &sums.terms, &sums.gains, &sums.partials};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        scratch_free(all[at], 1);
    columns_close(columns, OF_SUMS);
    return found;
}

/* ------------------------------------------------------------------------------------------------ words
 * Eight bytes at once, the first in the lowest bits whatever the machine. Never true: that `load64` is asked for
 * bytes of which one may not be read.
 */
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
    for (; !(word >> zeros & 1); zeros++) {
    }
    return zeros;
#endif
}

static inline int zeros_above(uint64_t word) /* how many bits are 0 above the highest 1; `word` has one */
{
#if defined(__GNUC__)
    return __builtin_clzll(word);
#else
    int zeros = 0;
    for (; !(word << zeros >> 63); zeros++) {
    }
    return zeros;
#endif
}

/* SipHash-1-3 (Aumasson & Bernstein 2012), the hash that CPython has for text. Keyed by a secret of this process:
 * nobody can write a file whose ids all fall into one place. Eight bytes may be read behind the id's last. */
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
    size_t whole = length / 8 * 8;
    uint64_t last = (uint64_t)length << 56 | (load64(id + whole) & (((uint64_t)1 << 8 * (length - whole)) - 1));
    for (size_t at = 0; at <= whole; at += 8) {
        uint64_t word = at < whole ? load64(id + at) : last;
        d ^= word;
        SIP_ROUND(a, b, c, d);
        a ^= word;
    }
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
    Scratch bytes;  /* the ids, one behind the other */
    Scratch ends;   /* int64_t, after a 0 */
    Scratch hashes; /* uint64_t */
    Scratch slots;  /* uint64_t: the upper half of the hash and the number + 1, or 0 where the slot is free */
    size_t count, mask;
} Names;

#define FEWEST_SLOTS 64

static inline void names_place(Names *names, uint64_t hash, size_t number)
{
    uint64_t *slots = WORDS(names->slots);
    size_t at = hash & names->mask;
    while (slots[at])
        at = (at + 1) & names->mask;
    slots[at] = (hash >> 32 << 32) | (number + 1);
}

static int names_slots(Names *names, size_t slots) /* make a table of so many, a power of two, and fill it */
{
    if (scratch_room(&names->slots, slots, sizeof(uint64_t)) < 0)
        return -1;
    memset(names->slots.items, 0, slots * sizeof(uint64_t));
    names->mask = slots - 1;
    for (size_t number = 0; number < names->count; number++)
        names_place(names, WORDS(names->hashes)[number], number);
    return 0;
}

static int names_empty(Names *names) /* also what makes them, out of zeros */
{
    size_t slots = FEWEST_SLOTS;
    while (slots < 2 * names->count)
        slots *= 2;
    names->count = names->bytes.count = names->ends.count = 0;
    return names_slots(names, slots) < 0 || push_long(&names->ends, 0) < 0 ? -1 : 0;
}

static void names_free(Names *names)
{
    scratch_free(&names->bytes, 1);
    scratch_free(&names->ends, 1);
    scratch_free(&names->hashes, 1);
    scratch_free(&names->slots, 1);
}

static inline const unsigned char *names_at(const Names *names, size_t number, size_t *length)
{
    const int64_t *ends = LONGS(names->ends) + number;
    *length = (size_t)(ends[1] - ends[0]);
    return BYTES(names->bytes) + ends[0];
}

static inline int names_is(const Names *names, size_t number, const unsigned char *id, size_t length)
{
    size_t other;
    const unsigned char *known = names_at(names, number, &other);
    return other == length && !memcmp(known, id, length);
}

static inline int64_t names_find(const Names *names, const unsigned char *id, size_t length, uint64_t hash)
{
    const uint64_t *slots = WORDS(names->slots);
    for (size_t at = hash & names->mask; slots[at]; at = (at + 1) & names->mask)
        if ((slots[at] ^ hash) >> 32 == 0 && names_is(names, (uint32_t)slots[at] - 1, id, length))
            return (uint32_t)slots[at] - 1;
    return -1;
}

/* The number of an id: the next one, if it was not there. Below 0: no memory, or more ids than numbers. */
static inline int64_t names_number(Names *names, const Seed *seed, const unsigned char *id, size_t length)
{
    uint64_t hash = hash_of(seed, id, length);
    int64_t found = names_find(names, id, length, hash);
    if (found >= 0)
        return found;
    size_t number = names->count;
    if (number >= INT32_MAX || push_bytes(&names->bytes, id, length) < 0 ||
        push_long(&names->ends, names->bytes.count) < 0 ||
        scratch_room(&names->hashes, number + 1, sizeof(uint64_t)) < 0)
        return -1;
    WORDS(names->hashes)[number] = hash;
    if (2 * ++names->count > names->mask)
        return names_slots(names, 2 * (names->mask + 1)) < 0 ? -1 : (int64_t)number;
    names_place(names, hash, number);
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
 * harm, the last line has its newline, and bytes may be read behind the end.
 * Out: fields, line by line. What may part fields is found first, as bits, eight bytes at once.
 * Never true of the lines at hand: that they do not end in a newline; that a byte below 0x21 is not among the
 * separators, or another one is; that they hold a 0x7f, or are not UTF-8.
 */
enum { FINE, ODD, APART, CONTRADICTED, TWICE, NO_MEMORY = -1 }; /* what a feed returns */

#define STRETCH 32768 /* bytes of lines that are looked at together: a part of the processor's nearest cache */
#define PADDING 128   /* letters behind them */
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
    PyThreadState *thread; /* to take the GIL again with, while BUSY; NULL: it is held */
    Scratch text, separators; /* bytes; int32_t: where they are */
    size_t next;              /* of the separators: the first one of the next line */
    size_t start;             /* of the next line */
    long long count, before;  /* lines, so far and in front of the latest chunk */
} Lines;

static int is_utf8(const unsigned char *text, size_t length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    for (size_t at = 0; at < length;) {
        if (!(load64(text + at) & EACH(0x80))) {
            at += 8;
            continue;
        }
        unsigned char lead = text[at];
        if (lead < 0x80) {
            at++;
            continue;
        }
        size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
        uint32_t code = lead & (0x7fu >> size);
        for (size_t more = 1; more < size; more++) {
            if (text[at + more] >> 6 != 2)
                return 0;
            code = code << 6 | (text[at + more] & 0x3fu);
        }
        if (lead < 0xc2 || lead > 0xf4 || code < least[size] || code > 0x10ffff || code >> 11 == 0x1b)
            return 0;
        at += size;
    }
    return 1;
}

/* Return a bit for each of 64 bytes, set if it is below 0x21; note whether one is 0x7f or not ASCII, as a high bit. */
static inline uint64_t block_separators(const unsigned char *text, uint64_t *unusual)
{
    uint64_t found = 0;
#ifdef __SSE2__ /* all there is on x86-64: sixteen bytes at once */
    __m128i any = _mm_setzero_si128();
    for (int part = 0; part < 4; part++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(text + 16 * part));
        any = _mm_or_si128(any, _mm_or_si128(bytes, _mm_add_epi8(bytes, _mm_set1_epi8(1))));
        __m128i below = _mm_cmpeq_epi8(_mm_max_epu8(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8(0x20));
        found |= (uint64_t)(unsigned)_mm_movemask_epi8(below) << 16 * part;
    }
    *unusual |= _mm_movemask_epi8(any) ? EACH(0x80) : 0;
#else
    for (int word = 0; word < 8; word++) {
        uint64_t bytes = load64(text + 8 * word), low = bytes & EACH(0x7f);
        *unusual |= bytes | (low + EACH(1));
        uint64_t below = ~((low + EACH(0x5f)) | bytes) & EACH(0x80); /* the high bit of bytes below 0x21 */
        found |= (below >> 7) * 0x0102040810204080u >> 56 << 8 * word; /* a bit a byte, in their order */
    }
#endif
    return found;
}

/* Find the separators of `length` bytes of text; return the bits of all bytes that are 0x7f or not ASCII. */
static uint64_t lines_separators(Lines *lines, size_t length)
{
    const unsigned char *text = BYTES(lines->text);
    int32_t *next = INTS(lines->separators);
    uint64_t unusual = 0;
    for (size_t block = 0; block < length; block += 64) {
        uint64_t found = block_separators(text + block, &unusual);
        for (; found; found &= found - 1)
            *next++ = (int32_t)block + zeros_below(found);
    }
    lines->separators.count = (size_t)(next - INTS(lines->separators));
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
    if (size > STRETCH && (size > INT32_MAX - PADDING - 1 || size - 2 > lines->line_limit))
        return ODD;
    if (scratch_room(&lines->text, size + 1 + PADDING, 1) < 0 ||
        scratch_room(&lines->separators, size + 1, sizeof(int32_t)) < 0)
        return NO_MEMORY;
    unsigned char *text = BYTES(lines->text);
    memcpy(text, chunk, size);
    *taken = size;
    if (text[size - 1] == '\r')
        return ODD; /* is it the end of a line? */
    if (text[size - 1] != '\n')
        text[size++] = '\n';
    memset(text + size, 'x', PADDING);
    lines->next = lines->start = 0;
    if (lines_separators(lines, size) && (memchr(text, 0x7f, size) || !is_utf8(text, size)))
        return ODD;
    return FINE;
}

/* Cut the line between two separators at its tabs; blanks around a field are not of it. Nothing left: ODD. */
static int lines_by_tabs(const Lines *lines, size_t first, size_t last, Field *fields)
{
    const unsigned char *text = BYTES(lines->text);
    size_t start = lines->start;
    for (size_t at = first; at <= last; at++) {
        size_t left = start, right = (size_t)INTS(lines->separators)[at];
        if (text[right] == ' ')
            continue;
        start = right + 1;
        while (left < right && text[left] == ' ')
            left++;
        while (left < right && text[right - 1] == ' ')
            right--;
        if (left == right)
            return ODD;
        *fields++ = (Field){text + left, right - left};
    }
    return FINE;
}

/* Cut the next line into fields; `*blank` if there is nothing in it. */
static inline int lines_next(Lines *lines, Field *fields, int *blank)
{
    const unsigned char *text = BYTES(lines->text), *line = text + lines->start;
    const int32_t *separators = INTS(lines->separators);
    size_t first = lines->next, last = first, start = lines->start, place, returns = 0;
    int count = 0, tabs = 0;
    for (;; last++) {
        place = (size_t)separators[last];
        if (place > start && count++ < lines->width)
            fields[count - 1] = (Field){text + start, place - start};
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
    int code = count == 0 || count == lines->width ? FINE : ODD;
    *blank = count == 0;
    if (!*blank && ((size_t)(text + place - line) - returns > lines->line_limit || line[0] == '#' ||
                    (line[0] == 0xef && line[1] == 0xbb && line[2] == 0xbf)))
        return ODD;
    int only_tabs = last - returns - first == (size_t)tabs; /* then both ways of cutting are the same */
    if (!*blank && tabs == lines->width - 1 && (code == ODD || (lines->tabbed && !only_tabs)))
        code = lines_by_tabs(lines, first, last - returns, fields);
    lines->start = start;
    lines->next = last + 1;
    return code;
}

/* ---------------------------------------------------------------------------------------------- numbers
 * Scores as `float()` has them: the double that is nearest, of two the even one. Never true: that a number is rounded
 * twice, or that a field is read which Python's pattern for it refuses.
 */
static inline int is_white(unsigned char byte) /* what bytes.split() cuts at */
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static inline int is_digit(unsigned char byte)
{
    return (unsigned char)(byte - '0') < 10;
}

#ifdef __SIZEOF_INT128__
static const uint64_t FIVES[] = { /* 5^0 to 5^27, the largest that 64 bits hold */
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u, 244140625u,
    1220703125u, 6103515625u, 30517578125u, 152587890625u, 762939453125u, 3814697265625u, 19073486328125u,
    95367431640625u, 476837158203125u, 2384185791015625u, 11920928955078125u, 59604644775390625u,
    298023223876953125u, 1490116119384765625u, 7450580596923828125u};

/* m * 10^power, rounded; 0 if it is not certain to which side. As 10 = 2 * 5, m is multiplied by or divided by powers
 * of five, 27 of them a step, and the first 64 bits are kept: the value is bits * 2^two and at most `slack` more, less
 * than that unless it is 0. Making a double of 64 bits cuts off 11 of them, half of which is 0x400, so it is
 * rounded as the value itself unless that lies between the bits and what they may lack. After one step nothing
 * does, so 19 digits with a power from -27 to 27 are always certain. */
static int scaled_by_steps(uint64_t bits, int power, double *value)
{
    uint64_t slack = 0;
    int up = zeros_above(bits), two = power - up;
    bits <<= up;
    while (power) {
        int step = power < -27 ? -27 : power > 27 ? 27 : power, shift = zeros_above(FIVES[step < 0 ? -step : step]);
        uint64_t five = FIVES[step < 0 ? -step : step] << shift;
        unsigned __int128 wide = step < 0 ? (unsigned __int128)bits << 63 : (unsigned __int128)bits * five;
        uint64_t left = step < 0 ? (uint64_t)(wide % five) : (uint64_t)wide;
        bits = step < 0 ? (uint64_t)(wide / five) : (uint64_t)(wide >> 64);
        two += step < 0 ? shift - 63 : 64 - shift;
        slack += left || slack;
        if (!(bits >> 63)) {
            bits = bits << 1;
            slack <<= 1;
            two--;
        }
        power -= step;
    }
    uint64_t cut = bits & 0x7ff, exponent = (uint64_t)(1023 + two) << 52; /* of a double that is a power of two */
    double scale;
    if (cut < 0x400 && cut + slack > 0x400)
        return 0;
    memcpy(&scale, &exponent, sizeof scale);
    *value = (double)(bits | (slack != 0)) * scale;
    return 1;
}
#endif

/* m * 10^power, m > 0, exactly rounded; 0 if Python must do it. */
static inline int scaled(uint64_t m, int power, double *value)
{
    static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (m <= (uint64_t)1 << 53 && power >= -22 && power <= 22) { /* both exact, so the result is rounded once */
        *value = power < 0 ? (double)m / tens[-power] : (double)m * tens[power];
        return 1;
    }
#ifdef __SIZEOF_INT128__
    return power >= -270 && power <= 270 && scaled_by_steps(m, power, value);
#else
    return 0;
#endif
}

/* Read a score with Python's own function. */
static double score_slowly(Lines *lines, Field field)
{
    unsigned char *start = BYTES(lines->text) + (field.start - BYTES(lines->text)), *end = start + field.length;
    unsigned char separator = *end;
    *end = 0; /* the text is ours, and a separator stands behind every field */
    if (lines->thread)
        PyEval_RestoreThread(lines->thread);
    double value = PyOS_string_to_double((const char *)start, NULL, NULL);
    if (PyErr_Occurred()) {
        PyErr_Clear();
        value = NAN;
    }
    if (lines->thread)
        lines->thread = PyEval_SaveThread();
    *end = separator;
    return value;
}

/* [+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?, and finite; 0 if it is not. */
static inline int score_of(Lines *lines, Field field, double *value)
{
    const unsigned char *at = field.start, *end = at + field.length; /* a separator: stops every loop */
    int minus = *at == '-', power = 0;
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
    if (digits && (*at == 'e' || *at == 'E')) {
        int down = *++at == '-';
        at += down || *at == '+';
        if (!is_digit(*at))
            return 0;
        for (; is_digit(*at); at++)
            power = power < 100000 ? power * 10 + (*at - '0') : power; /* far beyond what `scaled` takes */
        power = down ? -power : power;
    }
    if (!digits || at != end)
        return 0;
    for (; digits > 19 && (*first == '0' || *first == '.'); first++)
        digits -= *first == '0';
    *value = 0.0;
    if (digits > 19 || places > 1000 || (m && !scaled(m, power - (int)places, value))) {
        *value = score_slowly(lines, field);
        return isfinite(*value);
    }
    *value = minus ? -*value : *value;
    return 1;
}

static inline int32_t digits_of(const unsigned char *at, size_t length, size_t most) /* below 0: not digits alone */
{
    int32_t value = 0;
    if (!length || length > most)
        return -1;
    for (; length; at++, length--) {
        if (!is_digit(*at))
            return -1;
        value = value * 10 + (*at - '0');
    }
    return value;
}

static inline int grade_of(Field field, int32_t limit, int32_t *grade) /* [+-]?\d{1,7}, to the limit */
{
    size_t sign = *field.start == '-' || *field.start == '+';
    int32_t value = digits_of(field.start + sign, field.length - sign, 7);
    *grade = *field.start == '-' ? -value : value;
    return value >= 0 && value <= limit;
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
enum { LISTED, BELOW, DOCS, PAIRS, NUGGETS, GRADES, DOC_IDS, DOC_ID_ENDS, NUGGET_IDS, NUGGET_ID_ENDS, SHOWN_OF_QRELS,
       TABLES = SHOWN_OF_QRELS, SLOTS, KEPT_OF_QRELS }; /* `tables`: where each query's slots begin */
static const char QRELS_FORMATS[] = "iiqqiiBqBqqq";

typedef struct {
    int32_t latest, grade; /* the nugget of its last row, below 0 before the first, and the grade there */
    int32_t kept;          /* its number among those that are kept, or -1 */
    int32_t pairs;         /* how many are kept; then: where its next one goes */
} Judged;

typedef struct {
    int32_t document, nugget, grade;
} Judgement;

typedef struct {
    Lines lines;
    int32_t floor, grade_limit;
    int one_nugget_a_document;
    size_t rows;
    Names queries;
    Scratch kept[KEPT_OF_QRELS]; /* at the end what is shown becomes bytes, of which joins read these: */
    PyObject *held[SHOWN_OF_QRELS];
    const int64_t *docs, *id_ends;
    const char *ids;
    /* the query at hand */
    Names documents, nuggets, known; /* known: (document, nugget) of all rows, once nuggets did not ascend */
    int ascending;
    int32_t current; /* the nugget of the row before */
    Scratch of_documents, rows_at_hand, sorted, counts; /* Judged; Judgement, and by nugget; int64_t a nugget */
    Scratch chosen;                                     /* int32_t: the documents that are kept */
    size_t n_rows, n_pairs;
} Qrels;

#define JUDGED(qrels) ((Judged *)(qrels)->of_documents.items)
#define ROWS(qrels) ((Judgement *)(qrels)->rows_at_hand.items)

/* A slot holds the number of a document + 2 (1 if it is not kept) and as much of the hash as there is room above it;
 * what is cut off is what its place says. */
static inline int bits_of_numbers(int64_t kept)
{
    return 64 - zeros_above((uint64_t)kept + 2);
}

static inline size_t slot_of(uint64_t hash, size_t slots)
{
    return (size_t)((hash >> 32) * (uint64_t)slots >> 32);
}

/* The number of the row which names this pair of document and nugget: a new one if none does. Below 0: no memory. */
static int64_t qrels_known(Qrels *qrels, const Judgement *row)
{
    unsigned char key[16] = {0};
    memcpy(key, &row->document, 4);
    memcpy(key + 4, &row->nugget, 4);
    return names_number(&qrels->known, &qrels->lines.seed, key, 8);
}

static int qrels_know(Qrels *qrels) /* all pairs so far: from now on nuggets need not ascend */
{
    qrels->ascending = 0;
    if (names_empty(&qrels->known) < 0)
        return NO_MEMORY;
    for (size_t at = 0; at < qrels->n_rows; at++)
        if (qrels_known(qrels, &ROWS(qrels)[at]) < 0)
            return NO_MEMORY;
    return FINE;
}

/* Put the rows in the order of their nuggets, those of a nugget as they stand. */
static int qrels_by_nugget(Qrels *qrels)
{
    size_t nuggets = qrels->nuggets.count;
    if (scratch_room(&qrels->sorted, qrels->n_rows, sizeof(Judgement)) < 0 ||
        scratch_room(&qrels->counts, nuggets + 1, sizeof(int64_t)) < 0)
        return NO_MEMORY;
    int64_t *begin = LONGS(qrels->counts);
    memset(begin, 0, (nuggets + 1) * sizeof(int64_t));
    for (size_t at = 0; at < qrels->n_rows; at++)
        begin[ROWS(qrels)[at].nugget + 1]++;
    for (size_t at = 0; at < nuggets; at++)
        begin[at + 1] += begin[at];
    for (size_t at = 0; at < qrels->n_rows; at++)
        ((Judgement *)qrels->sorted.items)[begin[ROWS(qrels)[at].nugget]++] = ROWS(qrels)[at];
    Scratch swapped = qrels->sorted;
    qrels->sorted = qrels->rows_at_hand;
    qrels->rows_at_hand = swapped;
    return FINE;
}

static int push_name(Scratch *ids, const Names *names, size_t number) /* and its end into the column behind */
{
    size_t length;
    const unsigned char *id = names_at(names, number, &length);
    return push_bytes(&ids[0], id, length) < 0 || push_long(&ids[1], ids[0].count) < 0 ? NO_MEMORY : FINE;
}

/* Append the ids of the documents that are kept, and their pairs by nugget. */
static int qrels_close_documents(Qrels *qrels)
{
    Scratch *kept = qrels->kept;
    size_t before = kept[NUGGETS].count, pairs = before + qrels->n_pairs;
    int32_t next = 0;
    if (scratch_room(&kept[NUGGETS], pairs, sizeof(int32_t)) < 0 ||
        scratch_room(&kept[GRADES], pairs, sizeof(int32_t)) < 0)
        return NO_MEMORY;
    for (size_t at = 0; at < qrels->chosen.count; at++) {
        int32_t document = INTS(qrels->chosen)[at], count = JUDGED(qrels)[document].pairs;
        JUDGED(qrels)[document].pairs = next;
        next += count;
        if (push_name(&kept[DOC_IDS], &qrels->documents, (size_t)document) < 0 ||
            push_long(&kept[PAIRS], before + (size_t)next) < 0)
            return NO_MEMORY;
    }
    for (size_t at = 0; at < qrels->n_rows; at++) {
        const Judgement *row = &ROWS(qrels)[at];
        if (row->grade < qrels->floor)
            continue;
        size_t place = before + (size_t)JUDGED(qrels)[row->document].pairs++;
        INTS(kept[NUGGETS])[place] = row->nugget;
        INTS(kept[GRADES])[place] = row->grade;
    }
    kept[NUGGETS].count = kept[GRADES].count = pairs;
    return FINE;
}

/* Append the table of all judged documents of the query. */
static int qrels_close_table(Qrels *qrels)
{
    Scratch *all = &qrels->kept[SLOTS];
    size_t count = qrels->documents.count, slots = count + count / 2 + 2;
    if (scratch_room(all, all->count + slots, sizeof(uint64_t)) < 0)
        return NO_MEMORY;
    uint64_t *table = WORDS(*all) + all->count;
    int bits = bits_of_numbers((int64_t)qrels->chosen.count);
    memset(table, 0, slots * sizeof(uint64_t));
    for (size_t at = 0; at < count; at++) {
        uint64_t hash = WORDS(qrels->documents.hashes)[at];
        size_t place = slot_of(hash, slots);
        while (table[place])
            place = place + 1 < slots ? place + 1 : 0;
        table[place] = hash << bits | (uint64_t)(JUDGED(qrels)[at].kept + 2);
    }
    all->count += slots;
    return push_long(&qrels->kept[TABLES], all->count);
}

/* Finish the query at hand, if there is one. */
static int qrels_close(Qrels *qrels)
{
    Scratch *kept = qrels->kept;
    size_t documents = qrels->documents.count, nuggets = qrels->nuggets.count, chosen = qrels->chosen.count;
    if (!qrels->queries.count)
        return FINE;
    if ((!qrels->ascending && qrels_by_nugget(qrels) < 0) || qrels_close_documents(qrels) < 0 ||
        qrels_close_table(qrels) < 0 || push_int(&kept[LISTED], (int32_t)nuggets) < 0 ||
        push_int(&kept[BELOW], (int32_t)(documents - chosen)) < 0 ||
        push_long(&kept[DOCS], kept[PAIRS].count - 1) < 0)
        return NO_MEMORY;
    for (size_t at = 0; at < nuggets; at++)
        if (push_name(&kept[NUGGET_IDS], &qrels->nuggets, at) < 0)
            return NO_MEMORY;
    qrels->rows += qrels->n_rows;
    return FINE;
}

static int qrels_open(Qrels *qrels, Field id)
{
    size_t queries = qrels->queries.count;
    if (qrels_close(qrels) < 0)
        return NO_MEMORY;
    int64_t number = names_number(&qrels->queries, &qrels->lines.seed, id.start, id.length);
    if (number >= 0 && (size_t)number < queries)
        return APART;
    if (number < 0 || names_empty(&qrels->documents) < 0 || names_empty(&qrels->nuggets) < 0)
        return NO_MEMORY;
    qrels->n_rows = qrels->n_pairs = qrels->chosen.count = 0;
    qrels->ascending = 1;
    qrels->current = -1;
    return FINE;
}

/* The number of a row's nugget; below 0: no memory. Mostly that of the row before. */
static inline int32_t qrels_nugget(Qrels *qrels, Field id)
{
    if (qrels->current >= 0 && names_is(&qrels->nuggets, (size_t)qrels->current, id.start, id.length))
        return qrels->current;
    return qrels->current = (int32_t)names_number(&qrels->nuggets, &qrels->lines.seed, id.start, id.length);
}

/* The number of a row's document; below 0: no memory. */
static inline int32_t qrels_document(Qrels *qrels, Field id)
{
    size_t count = qrels->documents.count;
    int64_t number = names_number(&qrels->documents, &qrels->lines.seed, id.start, id.length);
    if (number >= 0 && (size_t)number == count) {
        if (scratch_room(&qrels->of_documents, count + 1, sizeof(Judged)) < 0)
            return -1;
        JUDGED(qrels)[count] = (Judged){-1, 0, -1, 0};
    }
    return (int32_t)number;
}

static inline int qrels_append(Qrels *qrels, const Judgement *row)
{
    Judged *judged = &JUDGED(qrels)[row->document];
    if (qrels->n_rows >= INT32_MAX || scratch_room(&qrels->rows_at_hand, qrels->n_rows + 1, sizeof(Judgement)) < 0)
        return NO_MEMORY;
    ROWS(qrels)[qrels->n_rows++] = *row;
    judged->latest = row->nugget;
    judged->grade = row->grade;
    if (row->grade < qrels->floor)
        return FINE;
    qrels->n_pairs++;
    if (judged->pairs++)
        return FINE;
    judged->kept = (int32_t)qrels->chosen.count;
    return push_int(&qrels->chosen, row->document);
}

/* Take a row of the query at hand. */
static inline int qrels_take(Qrels *qrels, Field nugget, Field document, int32_t grade)
{
    Judgement row = {0, 0, grade};
    row.nugget = qrels_nugget(qrels, nugget);
    row.document = qrels_document(qrels, document);
    if (row.nugget < 0 || row.document < 0)
        return NO_MEMORY;
    const Judged *judged = &JUDGED(qrels)[row.document];
    if (row.nugget == judged->latest)
        return row.grade == judged->grade ? FINE : CONTRADICTED;
    if (judged->latest >= 0)
        qrels->one_nugget_a_document = 0;
    if (row.nugget < judged->latest && qrels->ascending && qrels_know(qrels) < 0)
        return NO_MEMORY;
    if (!qrels->ascending) {
        int64_t before = qrels_known(qrels, &row);
        if (before < 0)
            return NO_MEMORY;
        if ((size_t)before < qrels->n_rows)
            return row.grade == ROWS(qrels)[before].grade ? FINE : CONTRADICTED;
    }
    return qrels_append(qrels, &row);
}

static int qrels_row(Lines *lines, const Field *fields)
{
    Qrels *qrels = (Qrels *)lines;
    int32_t grade;
    if (fields[0].length > lines->id_limit || fields[1].length > lines->id_limit ||
        fields[2].length > lines->id_limit || !grade_of(fields[3], qrels->grade_limit, &grade))
        return ODD;
    size_t queries = qrels->queries.count;
    if (!queries || !names_is(&qrels->queries, queries - 1, fields[0].start, fields[0].length)) {
        int code = qrels_open(qrels, fields[0]);
        if (code != FINE)
            return code;
    }
    return qrels_take(qrels, fields[1], fields[2], grade);
}

static void qrels_forget(Qrels *qrels) /* what only building needs */
{
    Scratch *all[] = {&qrels->lines.text, &qrels->lines.separators, &qrels->of_documents, &qrels->rows_at_hand,
                      &qrels->sorted,     &qrels->counts,           &qrels->chosen};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        scratch_free(all[at], 1);
    names_free(&qrels->documents);
    names_free(&qrels->nuggets);
    names_free(&qrels->known);
}

static void qrels_free(Qrels *qrels)
{
    qrels_forget(qrels);
    scratch_free(qrels->kept, KEPT_OF_QRELS);
    for (int at = 0; at < SHOWN_OF_QRELS; at++)
        Py_XDECREF(qrels->held[at]);
    names_free(&qrels->queries);
    free(qrels);
}

/* ------------------------------------------------------------------------------------------------ join
 * In: rows of a run, a query's rows together, and judgements that are at their end. Out: where the judged documents
 * stand, and what was counted. Only the query at hand is kept.
 * Never true: that a query has two stretches, or a document two rows in one; that a hit is said whose id was not
 * compared byte by byte; that hits of a query are not ascending by rank.
 */
enum { ASKED, LENGTH, JUDGED_OF, HITS, RANKS, NUMBERS, SHOWN_OF_JOIN, TIED_AT = SHOWN_OF_JOIN, KEPT_OF_JOIN };
static const char JOIN_FORMATS[] = "iqqqiiq";

typedef struct {
    double score;
    size_t document;
} Row;

typedef struct {
    Lines lines;
    PyObject *capsule; /* of the judgements */
    const Qrels *qrels;
    int64_t deepest, largest; /* rank of a hit, below 0: any; cut-off, 0 without one */
    Scratch cutoffs;          /* int32_t */
    Names queries;
    Scratch kept[KEPT_OF_JOIN];
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
    if (count < 2)
        return;
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

/* The number of a document in a query of the judgements; -1 if it is judged and not kept, NOT_JUDGED if not. */
#define NOT_JUDGED (-2)
static inline int64_t judged_as(const Qrels *qrels, int64_t query, uint64_t hash, const unsigned char *id,
                                size_t length)
{
    const int64_t *tables = LONGS(qrels->kept[TABLES]) + query, *docs = qrels->docs + query;
    const uint64_t *table = WORDS(qrels->kept[SLOTS]) + tables[0];
    size_t slots = (size_t)(tables[1] - tables[0]);
    int bits = bits_of_numbers(docs[1] - docs[0]);
    for (size_t at = slot_of(hash, slots); table[at]; at = at + 1 < slots ? at + 1 : 0) {
        if ((table[at] ^ hash << bits) >> bits)
            continue;
        int64_t number = (int64_t)(table[at] & (((uint64_t)1 << bits) - 1)) - 2;
        if (number < 0)
            return number;
        const int64_t *ends = qrels->id_ends + docs[0] + number;
        if ((size_t)(ends[1] - ends[0]) == length && !memcmp(qrels->ids + ends[0], id, length))
            return number;
    }
    return NOT_JUDGED;
}

/* Note where the documents of a judged query stand. */
static int join_hits(Join *join, int64_t query)
{
    Scratch *kept = join->kept;
    size_t judged = 0;
    int64_t count = (int64_t)join->n_rows;
    for (int64_t at = 0; at < count; at++) {
        size_t length, document = ((Row *)join->ranking.items)[at].document;
        const unsigned char *id = names_at(&join->documents, document, &length);
        int64_t number = judged_as(join->qrels, query, WORDS(join->documents.hashes)[document], id, length);
        if (number == NOT_JUDGED)
            continue;
        judged++;
        join->shown_judged += at < join->largest;
        if (number >= 0 && (join->deepest < 0 || at < join->deepest) &&
            (push_int(&kept[RANKS], (int32_t)at + 1) < 0 || push_int(&kept[NUMBERS], (int32_t)number) < 0))
            return NO_MEMORY;
    }
    join->shown += count < join->largest ? count : join->largest;
    return push_int(&kept[ASKED], (int32_t)query) < 0 || push_long(&kept[LENGTH], join->n_rows) < 0 ||
                   push_long(&kept[JUDGED_OF], judged) < 0 || push_long(&kept[HITS], kept[RANKS].count) < 0
               ? NO_MEMORY
               : FINE;
}

/* Finish the query at hand, if there is one. */
static int join_close(Join *join)
{
    size_t length, count = join->n_rows;
    if (!count)
        return FINE;
    Row *rows = join->ranking.items;
    if (!join->sorted && scratch_room(&join->spare, count / 2 + 1, sizeof(Row)) < 0)
        return NO_MEMORY;
    if (!join->sorted)
        sort_rows(join, rows, count, join->spare.items);
    for (size_t at = 0; at < join->cutoffs.count; at++) {
        size_t cutoff = (size_t)INTS(join->cutoffs)[at];
        LONGS(join->kept[TIED_AT])[at] += cutoff < count && rows[cutoff - 1].score == rows[cutoff].score;
    }
    join->rows += (int64_t)count;
    join->rank_conflicts += join->conflict;
    size_t last = join->queries.count - 1;
    const unsigned char *id = names_at(&join->queries, last, &length);
    int64_t query = names_find(&join->qrels->queries, id, length, WORDS(join->queries.hashes)[last]);
    return query < 0 ? FINE : join_hits(join, query);
}

static int join_open(Join *join, Field id)
{
    size_t queries = join->queries.count;
    if (join_close(join) < 0)
        return NO_MEMORY;
    int64_t number = names_number(&join->queries, &join->lines.seed, id.start, id.length);
    if (number >= 0 && (size_t)number < queries)
        return APART;
    if (number < 0 || names_empty(&join->documents) < 0)
        return NO_MEMORY;
    join->n_rows = 0;
    join->sorted = 1;
    join->conflict = 0;
    return FINE;
}

/* Append a row; see whether it stands where its score says, and whether its rank says otherwise. */
static inline void join_append(Join *join, const Row *row, int32_t rank)
{
    Row *next = (Row *)join->ranking.items + join->n_rows++;
    *next = *row;
    if (join->n_rows > 1) {
        if (rank >= 0 && join->last_rank >= 0)
            join->conflict |= (rank > join->last_rank && row->score > next[-1].score) ||
                              (rank < join->last_rank && row->score < next[-1].score);
        join->sorted = join->sorted && precedes(join, &next[-1], row);
    }
    join->last_rank = rank;
}

/* Take a row of the query at hand; its rank is below 0 if it says none. */
static inline int join_take(Join *join, Field id, double score, int32_t rank)
{
    int64_t number = names_number(&join->documents, &join->lines.seed, id.start, id.length);
    if (number >= 0 && (size_t)number < join->n_rows)
        return TWICE;
    if (number < 0 || scratch_room(&join->ranking, join->n_rows + 1, sizeof(Row)) < 0)
        return NO_MEMORY;
    Row row = {score, (size_t)number};
    join_append(join, &row, rank);
    return FINE;
}

static int join_row(Lines *lines, const Field *fields)
{
    Join *join = (Join *)lines;
    double score;
    if (fields[0].length > lines->id_limit || fields[2].length > lines->id_limit ||
        !score_of(lines, fields[4], &score))
        return ODD;
    size_t queries = join->queries.count;
    if (!queries || !names_is(&join->queries, queries - 1, fields[0].start, fields[0].length)) {
        int code = join_open(join, fields[0]);
        if (code != FINE)
            return code;
    }
    return join_take(join, fields[2], score, digits_of(fields[3].start, fields[3].length, 8));
}

static void join_forget(Join *join) /* what only reading needs */
{
    Scratch *all[] = {&join->lines.text, &join->lines.separators, &join->cutoffs, &join->ranking, &join->spare};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        scratch_free(all[at], 1);
    names_free(&join->documents);
}

static void join_free(Join *join)
{
    join_forget(join);
    scratch_free(join->kept, KEPT_OF_JOIN);
    names_free(&join->queries);
    Py_XDECREF(join->capsule);
    free(join);
}

/* ------------------------------------------------------------------------- readers as Python sees them
 * Never true: that a reader reads on after a code other than 0, at its end, or in two threads at once; that anything
 * writes into what was handed over.
 */
static size_t width_of(char format)
{
    return format == 'q' ? 8 : format == 'i' ? 4 : 1;
}

/* Hand columns over as bytes, with views of their items; they are freed one by one, so nothing is there twice for
 * long. 0: no memory. */
static int hand_over(Scratch *columns, const char *formats, int count, PyObject **bytes, PyObject **views)
{
    int all = 1;
    for (int at = 0; at < count; at++) {
        size_t length = columns[at].count * width_of(formats[at]);
        bytes[at] = all ? PyBytes_FromStringAndSize(columns[at].items, (Py_ssize_t)length) : NULL;
        PyObject *view = bytes[at] ? PyMemoryView_FromObject(bytes[at]) : NULL;
        views[at] = view ? PyObject_CallMethod(view, "cast", "C", formats[at]) : NULL;
        Py_XDECREF(view);
        scratch_free(&columns[at], 1);
        all = views[at] != NULL;
    }
    return all;
}

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
        while (code == FINE && lines->next < lines->separators.count) {
            code = lines_next(lines, fields, &blank);
            lines->count++;
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

static Lines *reader_in(PyObject *capsule, const char *name) /* if it can read on */
{
    static const char *const why[] = {"", "another thread is feeding", "it has given a code other than 0",
                                      "it is at its end"};
    Lines *lines = PyCapsule_GetPointer(capsule, name);
    if (lines && lines->state != READING) {
        PyErr_Format(PyExc_RuntimeError, "nothing more can be read here: %s", why[lines->state]);
        return NULL;
    }
    return lines;
}

static PyObject *feed(PyObject *args, const char *name, int (*feed_all)(Lines *, const unsigned char *, size_t))
{
    PyObject *capsule;
    Py_buffer chunk;
    if (!PyArg_ParseTuple(args, "Oy*:feed", &capsule, &chunk))
        return NULL;
    Lines *lines = reader_in(capsule, name);
    int code = NO_MEMORY;
    if (lines) {
        lines->state = BUSY;
        lines->before = lines->count;
        lines->thread = PyEval_SaveThread();
        code = feed_all(lines, chunk.buf, (size_t)chunk.len);
        PyEval_RestoreThread(lines->thread);
        lines->state = code == FINE ? READING : FAILED;
    }
    PyBuffer_Release(&chunk);
    return !lines ? NULL : code == NO_MEMORY ? PyErr_NoMemory() : PyLong_FromLong(code);
}

PyDoc_STRVAR(lines_before_doc,
             "lines_before(reader)\n"
             "--\n\n"
             "Return how many lines, blank ones too, came before the chunk that was fed last.");

static PyObject *lines_before(PyObject *Py_UNUSED(module), PyObject *capsule)
{
    int is_join = PyCapsule_IsValid(capsule, JOIN_NAME); /* both begin with their lines */
    const Lines *lines = PyCapsule_GetPointer(capsule, is_join ? JOIN_NAME : QRELS_NAME);
    return lines ? PyLong_FromLongLong(lines->before) : NULL;
}

static int settle(Lines *lines, int width, Py_ssize_t id_limit, Py_ssize_t line_limit, int tabbed)
{
    if (id_limit < 0 || line_limit < 0) {
        PyErr_SetString(PyExc_ValueError, "expected limits of 0 or more");
        return -1;
    }
    lines->id_limit = (size_t)id_limit;
    lines->line_limit = (size_t)line_limit;
    lines->width = width;
    lines->tabbed = tabbed;
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
    static const int from_0[] = {DOCS, PAIRS, DOC_ID_ENDS, NUGGET_ID_ENDS, TABLES};
    long long floor, grade_limit;
    Py_ssize_t id_limit, line_limit, seed_length;
    const char *seed;
    int tabbed, failed = 0;
    if (!PyArg_ParseTuple(args, "Ly#nnLp:qrels_new", &floor, &seed, &seed_length, &id_limit, &line_limit,
                          &grade_limit, &tabbed))
        return NULL;
    if (seed_length != 16)
        return PyErr_Format(PyExc_ValueError, "expected a seed of 16 bytes, found %zd", seed_length);
    Qrels *qrels = calloc(1, sizeof(Qrels));
    if (!qrels)
        return PyErr_NoMemory();
    memcpy(&qrels->lines.seed, seed, 16);
    qrels->floor = clamped(floor);
    qrels->grade_limit = clamped(grade_limit);
    qrels->one_nugget_a_document = 1;
    for (size_t at = 0; at < sizeof from_0 / sizeof from_0[0]; at++)
        failed |= push_long(&qrels->kept[from_0[at]], 0) < 0;
    PyObject *capsule = NULL;
    if (failed || names_empty(&qrels->queries) < 0)
        PyErr_NoMemory();
    else if (settle(&qrels->lines, 4, id_limit, line_limit, tabbed) == 0)
        capsule = PyCapsule_New(qrels, QRELS_NAME, qrels_drop);
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

static PyObject *qrels_end(PyObject *Py_UNUSED(module), PyObject *capsule)
{
    Qrels *qrels = (Qrels *)reader_in(capsule, QRELS_NAME);
    PyObject *shown[SHOWN_OF_QRELS];
    if (!qrels)
        return NULL;
    qrels->lines.state = FAILED;
    if (qrels_close(qrels) < 0)
        return PyErr_NoMemory();
    qrels_forget(qrels);
    if (hand_over(qrels->kept, QRELS_FORMATS, SHOWN_OF_QRELS, qrels->held, shown)) {
        qrels->docs = (const int64_t *)(const void *)PyBytes_AsString(qrels->held[DOCS]);
        qrels->id_ends = (const int64_t *)(const void *)PyBytes_AsString(qrels->held[DOC_ID_ENDS]);
        qrels->ids = PyBytes_AsString(qrels->held[DOC_IDS]);
        qrels->lines.state = ENDED;
    }
    return Py_BuildValue("(nNNNNNNNNNNNN)", (Py_ssize_t)qrels->rows, PyBool_FromLong(qrels->one_nugget_a_document),
                         names_list(&qrels->queries), shown[LISTED], shown[BELOW], shown[DOCS], shown[PAIRS],
                         shown[NUGGETS], shown[GRADES], shown[DOC_IDS], shown[DOC_ID_ENDS], shown[NUGGET_IDS],
                         shown[NUGGET_ID_ENDS]);
}

PyDoc_STRVAR(qrels_numbers_doc,
             "qrels_numbers(qrels, query, docs)\n"
             "--\n\n"
             "Return the number of each document (a list of bytes) within a query, an int32_t each: -1 if it is judged\n"
             "and nothing of it is kept, -2 if nobody judged it.");

/* Look one document up; `id` is scratch, for hashing reads up to 8 bytes behind an id's end. */
static int qrels_number(const Qrels *qrels, int64_t query, PyObject *doc, Scratch *id, int32_t *number)
{
    char *given;
    Py_ssize_t length;
    if (!doc || PyBytes_AsStringAndSize(doc, &given, &length) < 0)
        return -1;
    if (scratch_room(id, (size_t)length + 8, 1) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(id->items, given, (size_t)length);
    memset(BYTES(*id) + length, 0, 8);
    uint64_t hash = hash_of(&qrels->lines.seed, id->items, (size_t)length);
    *number = (int32_t)judged_as(qrels, query, hash, id->items, (size_t)length);
    return 0;
}

static PyObject *qrels_numbers(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *capsule, *docs;
    long long query;
    if (!PyArg_ParseTuple(args, "OLO!:qrels_numbers", &capsule, &query, &PyList_Type, &docs))
        return NULL;
    const Qrels *qrels = PyCapsule_GetPointer(capsule, QRELS_NAME);
    if (!qrels)
        return NULL;
    if (qrels->lines.state != ENDED)
        return PyErr_Format(PyExc_RuntimeError, "the judgements are not at their end");
    if (query < 0 || (unsigned long long)query >= qrels->queries.count)
        return PyErr_Format(PyExc_ValueError, "query: expected the number of a query, found %lld", query);
    Scratch id = {0};
    Py_ssize_t count = PyList_Size(docs);
    PyObject *found = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(int32_t));
    for (Py_ssize_t at = 0; found && at < count; at++) {
        int32_t number; /* the list does not change meanwhile: nothing else runs */
        if (qrels_number(qrels, query, PyList_GetItem(docs, at), &id, &number) < 0)
            Py_CLEAR(found);
        else
            memcpy(PyBytes_AsString(found) + at * (Py_ssize_t)sizeof number, &number, sizeof number);
    }
    scratch_free(&id, 1);
    return found;
}

/* Copy the cut-offs: ranks from 1, ascending. */
static int join_cutoffs(Join *join, PyObject *given)
{
    Column column;
    memset(&column, 0, sizeof column);
    int failed = column_open(&column, given, "cutoffs", "il", sizeof(int32_t)) < 0;
    for (Py_ssize_t at = 0; at < column.length && !failed; at++) {
        int32_t cutoff = ((const int32_t *)column.view.buf)[at];
        failed = cutoff <= join->largest || push_int(&join->cutoffs, cutoff) < 0 ||
                 push_long(&join->kept[TIED_AT], 0) < 0;
        if (failed && cutoff <= join->largest)
            PyErr_SetString(PyExc_ValueError, "cutoffs: expected ranks from 1, ascending");
        else if (failed)
            PyErr_NoMemory();
        join->largest = cutoff;
    }
    columns_close(&column, 1);
    return failed ? -1 : 0;
}

PyDoc_STRVAR(join_new_doc,
             "join_new(qrels, deepest, cutoffs, id_limit, line_limit, tabbed)\n"
             "--\n\n"
             "Return a reader of a run that meets judgements at their end. Hits below rank `deepest` are dropped\n"
             "(-1: none). Several readers may share the judgements.");

static PyObject *join_new(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *shared, *cutoffs, *capsule = NULL;
    long long deepest;
    Py_ssize_t id_limit, line_limit;
    int tabbed;
    if (!PyArg_ParseTuple(args, "OLOnnp:join_new", &shared, &deepest, &cutoffs, &id_limit, &line_limit, &tabbed))
        return NULL;
    const Qrels *qrels = PyCapsule_GetPointer(shared, QRELS_NAME);
    if (!qrels)
        return NULL;
    if (qrels->lines.state != ENDED)
        return PyErr_Format(PyExc_RuntimeError, "the judgements are not at their end");
    Join *join = calloc(1, sizeof(Join));
    if (!join)
        return PyErr_NoMemory();
    Py_INCREF(shared);
    join->capsule = shared;
    join->qrels = qrels;
    join->lines.seed = qrels->lines.seed;
    join->deepest = deepest;
    if (names_empty(&join->queries) < 0 || push_long(&join->kept[HITS], 0) < 0)
        PyErr_NoMemory();
    else if (settle(&join->lines, 6, id_limit, line_limit, tabbed) == 0 && join_cutoffs(join, cutoffs) == 0)
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

static PyObject *join_end(PyObject *Py_UNUSED(module), PyObject *capsule)
{
    Join *join = (Join *)reader_in(capsule, JOIN_NAME);
    PyObject *bytes[KEPT_OF_JOIN], *shown[KEPT_OF_JOIN];
    if (!join)
        return NULL;
    join->lines.state = FAILED;
    if (join_close(join) < 0)
        return PyErr_NoMemory();
    join_forget(join);
    if (hand_over(join->kept, JOIN_FORMATS, KEPT_OF_JOIN, bytes, shown))
        join->lines.state = ENDED;
    for (int at = 0; at < KEPT_OF_JOIN; at++)
        Py_XDECREF(bytes[at]);
    return Py_BuildValue("(NNNNNNNLLLLN)", names_list(&join->queries), shown[ASKED], shown[LENGTH], shown[JUDGED_OF],
                         shown[HITS], shown[RANKS], shown[NUMBERS], (long long)join->rows,
                         (long long)join->rank_conflicts, (long long)join->shown, (long long)join->shown_judged,
                         shown[TIED_AT]);
}

/* ----------------------------------------------------------------------------------------- readers of dicts
 * In: a query, and what a dict holds for it: text or whole numbers as ids, and numbers. It goes where lines go, behind
 * the same codes: ODD for whatever is not usual, which the plain reader knows. The interpreter stands still meanwhile,
 * and nothing here runs code of Python's, so the dict is the same all the time.
 */
typedef struct {
    Scratch text; /* with room to hash it */
    Field field;
} Key;

static int key_is(Key *key, const Lines *lines, PyObject *given)
{
    PyObject *text = PyUnicode_CheckExact(given) ? Py_NewRef(given) : PyLong_CheckExact(given) ? PyObject_Str(given) : NULL;
    Py_ssize_t length = 0;
    const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
    int code = ODD;
    if (bytes && length && (size_t)length <= lines->id_limit && !is_white((unsigned char)bytes[0]) &&
        !is_white((unsigned char)bytes[length - 1])) {
        code = scratch_room(&key->text, (size_t)length + 8, 1) < 0 ? NO_MEMORY : FINE;
        if (code == FINE) {
            memcpy(key->text.items, bytes, (size_t)length);
            memset(BYTES(key->text) + length, 0, 8);
            key->field = (Field){key->text.items, (size_t)length};
        }
    }
    if (!bytes)
        PyErr_Clear(); /* half of a character, or a number of too many digits */
    Py_XDECREF(text);
    return code;
}

typedef struct {
    PyObject *key, *value;
} Entry;

/* List what a dict holds; return how much that is, below 0 if there is no memory. The objects lie all over it: all of
 * them are asked for before the first is looked into. */
static Py_ssize_t entries_of(PyObject *dict, Scratch *entries)
{
    Py_ssize_t place = 0, count = 0;
    if (scratch_room(entries, (size_t)PyDict_Size(dict) + 1, sizeof(Entry)) < 0)
        return -1;
    for (Entry *entry = entries->items; PyDict_Next(dict, &place, &entry->key, &entry->value); entry++, count++) {
#if defined(__GNUC__)
        __builtin_prefetch((const char *)entry->key + 48); /* where the letters of short texts begin */
        __builtin_prefetch(entry->value);
#endif
    }
    return count;
}

static PyObject *added(Key *keys, int count, Scratch *entries, Lines *lines, int code)
{
    for (int at = 0; at < count; at++)
        scratch_free(&keys[at].text, 1);
    scratch_free(entries, 1);
    lines->state = code == FINE ? READING : FAILED;
    return code == NO_MEMORY ? PyErr_NoMemory() : PyLong_FromLong(code);
}

PyDoc_STRVAR(qrels_add_doc,
             "qrels_add(qrels, query, nugget, grades)\n"
             "--\n\n"
             "Read {document: grade}, the judgements of a nugget, behind those of the same query; without any, the query\n"
             "is known all the same. Return what `qrels_feed` does.");

static PyObject *qrels_add(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *capsule, *query, *nugget, *grades;
    if (!PyArg_ParseTuple(args, "OOOO!:qrels_add", &capsule, &query, &nugget, &PyDict_Type, &grades))
        return NULL;
    Qrels *qrels = (Qrels *)reader_in(capsule, QRELS_NAME);
    if (!qrels)
        return NULL;
    Key keys[3] = {{{NULL, 0, 0}, {NULL, 0}}};
    Scratch entries = {NULL, 0, 0};
    Py_ssize_t count = entries_of(grades, &entries);
    size_t queries = qrels->queries.count;
    int code = count < 0 ? NO_MEMORY : key_is(&keys[0], &qrels->lines, query);
    if (code == FINE)
        code = key_is(&keys[1], &qrels->lines, nugget);
    if (code == FINE && (!queries || !names_is(&qrels->queries, queries - 1, keys[0].field.start, keys[0].field.length)))
        code = qrels_open(qrels, keys[0].field);
    const Entry *entry = entries.items;
    for (Py_ssize_t at = 0; code == FINE && at < count; at++, entry++) {
        int overflow = !PyLong_CheckExact(entry->value);
        long long grade = overflow ? 0 : PyLong_AsLongLongAndOverflow(entry->value, &overflow);
        code = overflow || grade > qrels->grade_limit || grade < -(long long)qrels->grade_limit
                   ? ODD
                   : key_is(&keys[2], &qrels->lines, entry->key);
        if (code == FINE)
            code = qrels_take(qrels, keys[1].field, keys[2].field, (int32_t)grade);
    }
    return added(keys, 3, &entries, &qrels->lines, code);
}

PyDoc_STRVAR(join_add_doc,
             "join_add(join, query, scores)\n"
             "--\n\n"
             "Read {document: score}, all that a run has for a query. Return what `join_feed` does.");

static PyObject *join_add(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *capsule, *query, *scores;
    if (!PyArg_ParseTuple(args, "OOO!:join_add", &capsule, &query, &PyDict_Type, &scores))
        return NULL;
    Join *join = (Join *)reader_in(capsule, JOIN_NAME);
    if (!join)
        return NULL;
    Key keys[2] = {{{NULL, 0, 0}, {NULL, 0}}};
    Scratch entries = {NULL, 0, 0};
    Py_ssize_t count = entries_of(scores, &entries);
    int code = count < 0 ? NO_MEMORY : key_is(&keys[0], &join->lines, query);
    if (code == FINE)
        code = join_open(join, keys[0].field);
    const Entry *entry = entries.items;
    for (Py_ssize_t at = 0; code == FINE && at < count; at++, entry++) {
        int is_number = PyFloat_Check(entry->value) || PyLong_CheckExact(entry->value);
        double score = is_number ? PyFloat_AsDouble(entry->value) : Py_HUGE_VAL;
        if (score == -1.0 && PyErr_Occurred()) { /* a whole number that is too large */
            PyErr_Clear();
            score = Py_HUGE_VAL;
        }
        code = isfinite(score) ? key_is(&keys[1], &join->lines, entry->key) : ODD;
        if (code == FINE)
            code = join_take(join, keys[1].field, score, -1);
    }
    return added(keys, 2, &entries, &join->lines, code);
}

/* ------------------------------------------------------------------------------------- lines that lie apart
 * In: chunks of whole lines, the queries in any order, and the number of each line. Out: the lines of each query
 * together, some whole queries at a time, the queries in the order of their first lines: a stable counting sort of the
 * places of the lines, which themselves are copied once in and once out.
 * The query of a line is its first field, cut as the readers cut it; lines of blanks are left out. Nothing is checked
 * here: whoever reads the lines next does that. The interpreter waits meanwhile.
 * Never true: that two lines of a query change places, or that a line, or the number of one, is lost.
 */
typedef struct {
    Seed seed;
    int width, tabbed;
    Names queries;
    Scratch id;                   /* the query at hand, with room to hash it */
    Scratch text, ends;           /* the lines, each with its newline; int64_t, after a 0 */
    Scratch query, numbers;       /* of each line: int32_t, int64_t */
    Scratch places;               /* int64_t a query, while they are sorted */
    Scratch order;                /* int32_t: the lines, sorted */
    size_t next;                  /* in `order`: the first that was not handed out */
    enum { TAKING, BROKEN, SORTED } state;
} Apart;

#define APART_NAME "rageval._kernel.apart"

static inline size_t past_blanks(const unsigned char *line, size_t at, size_t length)
{
    while (at < length && (line[at] == ' ' || line[at] == '\t'))
        at++;
    return at;
}

/* Whether tabs part the fields of a line: it has as many as it takes, and blanks would part it otherwise. */
static int parted_by_tabs(const Apart *apart, const unsigned char *line, size_t length)
{
    int tabs = 0, fields = 0;
    if (!memchr(line, '\t', length))
        return 0;
    for (size_t at = 0; at < length; at++) {
        tabs += line[at] == '\t';
        fields += !is_white(line[at]) && (!at || is_white(line[at - 1]));
    }
    return tabs == apart->width - 1 && (apart->tabbed || fields != apart->width);
}

/* Keep a line, given without its newline. Below 0: no memory, or more lines than numbers. */
static int apart_line(Apart *apart, const unsigned char *line, size_t length, int64_t number)
{
    size_t first = past_blanks(line, 0, length), last;
    if (first == length || (line[first] == '\r' && past_blanks(line, first + 1, length) == length))
        return 0;
    if (parted_by_tabs(apart, line, length)) {
        for (first = 0; line[first] == ' ';)
            first++;
        for (last = first; line[last] != '\t';)
            last++;
        while (last > first && line[last - 1] == ' ')
            last--;
    } else {
        while (first < length && is_white(line[first]))
            first++;
        for (last = first; last < length && !is_white(line[last]);)
            last++;
    }
    if (scratch_room(&apart->id, last - first + 8, 1) < 0)
        return -1;
    memcpy(BYTES(apart->id), line + first, last - first);
    memset(BYTES(apart->id) + (last - first), 0, 8);
    int64_t query = names_number(&apart->queries, &apart->seed, BYTES(apart->id), last - first);
    if (query < 0 || apart->query.count >= INT32_MAX || push_int(&apart->query, (int32_t)query) < 0 ||
        push_long(&apart->numbers, (size_t)number) < 0 || push_bytes(&apart->text, line, length) < 0)
        return -1;
    BYTES(apart->text)[apart->text.count++] = '\n'; /* push_bytes makes room for one more */
    return push_long(&apart->ends, apart->text.count);
}

static int apart_sort(Apart *apart)
{
    size_t lines = apart->query.count, queries = apart->queries.count;
    const int32_t *query = INTS(apart->query);
    if (scratch_room(&apart->places, queries + 1, sizeof(int64_t)) < 0 ||
        scratch_room(&apart->order, lines + 1, sizeof(int32_t)) < 0)
        return -1;
    int64_t *places = LONGS(apart->places), sum = 0;
    memset(places, 0, queries * sizeof *places);
    for (size_t line = 0; line < lines; line++)
        places[query[line]]++;
    for (size_t at = 0; at < queries; at++) { /* from how many lines a query has to where its first one goes */
        int64_t count = places[at];
        places[at] = sum;
        sum += count;
    }
    for (size_t line = 0; line < lines; line++)
        INTS(apart->order)[places[query[line]]++] = (int32_t)line;
    apart->state = SORTED;
    return 0;
}

static void apart_free(Apart *apart)
{
    Scratch *all[] = {&apart->id, &apart->text, &apart->ends, &apart->query, &apart->numbers, &apart->places, &apart->order};
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        scratch_free(all[at], 1);
    names_free(&apart->queries);
    free(apart);
}

static void apart_drop(PyObject *capsule)
{
    apart_free(PyCapsule_GetPointer(capsule, APART_NAME));
}

PyDoc_STRVAR(apart_new_doc,
             "apart_new(seed, width, tabbed)\n"
             "--\n\n"
             "Return what puts lines of `width` fields in order by their queries. `seed`: 16 secret bytes.");

static PyObject *apart_new(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *seed;
    Py_ssize_t seed_length;
    int width, tabbed;
    if (!PyArg_ParseTuple(args, "y#ip:apart_new", &seed, &seed_length, &width, &tabbed))
        return NULL;
    if (seed_length != 16)
        return PyErr_Format(PyExc_ValueError, "expected a seed of 16 bytes, found %zd", seed_length);
    Apart *apart = calloc(1, sizeof(Apart));
    if (!apart)
        return PyErr_NoMemory();
    memcpy(&apart->seed, seed, 16);
    apart->width = width;
    apart->tabbed = tabbed;
    PyObject *capsule = NULL;
    if (names_empty(&apart->queries) < 0 || push_long(&apart->ends, 0) < 0)
        PyErr_NoMemory();
    else
        capsule = PyCapsule_New(apart, APART_NAME, apart_drop);
    if (!capsule)
        apart_free(apart);
    return capsule;
}

PyDoc_STRVAR(apart_feed_doc,
             "apart_feed(apart, chunk, numbers)\n"
             "--\n\n"
             "Take whole lines; `numbers` is the number of the first, or an int64_t for each.");

static PyObject *apart_feed(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *capsule, *chunk, *given;
    Column numbers;
    memset(&numbers, 0, sizeof numbers);
    if (!PyArg_ParseTuple(args, "OSO:apart_feed", &capsule, &chunk, &given)) /* bytes: nobody writes into them */
        return NULL;
    Apart *apart = PyCapsule_GetPointer(capsule, APART_NAME);
    if (!apart)
        return NULL;
    if (apart->state != TAKING)
        return PyErr_Format(PyExc_RuntimeError, "nothing more can be taken here");
    int64_t number = 0, failed = 0;
    if (PyLong_Check(given) ? ((number = PyLong_AsLongLong(given)) == -1 && PyErr_Occurred() != NULL)
                            : column_open(&numbers, given, "numbers", "ql", sizeof(int64_t)) < 0) {
        columns_close(&numbers, 1);
        return NULL;
    }
    const unsigned char *line = (const unsigned char *)PyBytes_AsString(chunk), *end = line + PyBytes_Size(chunk);
    for (Py_ssize_t at = 0; line < end && !failed; at++) {
        const unsigned char *newline = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((newline ? newline : end) - line);
        if (numbers.open && at >= numbers.length) {
            PyErr_Format(PyExc_ValueError, "numbers: expected one for every line");
            failed = 1;
        } else if (apart_line(apart, line, length,
                              numbers.open ? ((const int64_t *)numbers.view.buf)[at] : number + at) < 0) {
            PyErr_NoMemory();
            failed = 1;
        }
        line += length + 1;
    }
    columns_close(&numbers, 1);
    if (failed)
        apart->state = BROKEN;
    return failed ? NULL : Py_NewRef(Py_None);
}

PyDoc_STRVAR(apart_next_doc,
             "apart_next(apart, size)\n"
             "--\n\n"
             "Return the lines of the next queries, `size` bytes or more unless they are the last, and the number of\n"
             "each line as bytes of int64_t; nothing when there are no more. From now on no more are taken.");

static PyObject *apart_next(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *capsule;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "On:apart_next", &capsule, &size))
        return NULL;
    Apart *apart = PyCapsule_GetPointer(capsule, APART_NAME);
    if (!apart)
        return NULL;
    if (apart->state == BROKEN)
        return PyErr_Format(PyExc_RuntimeError, "nothing can be handed out here: a line was not taken");
    if (apart->state == TAKING && apart_sort(apart) < 0)
        return PyErr_NoMemory();
    const int32_t *order = INTS(apart->order), *query = INTS(apart->query);
    const int64_t *ends = LONGS(apart->ends);
    size_t first = apart->next, last = first, bytes = 0;
    for (; last < apart->query.count; last++) {
        int is_new = last == first || query[order[last]] != query[order[last - 1]];
        if (is_new && last > first && bytes >= (size_t)(size < 0 ? 0 : size))
            break;
        bytes += (size_t)(ends[order[last] + 1] - ends[order[last]]);
    }
    PyObject *text = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)bytes);
    PyObject *numbers = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((last - first) * sizeof(int64_t)));
    if (!text || !numbers) {
        Py_XDECREF(text);
        Py_XDECREF(numbers);
        return NULL;
    }
    char *to = PyBytes_AsString(text), *number = PyBytes_AsString(numbers);
    for (size_t at = first; at < last; at++, number += sizeof(int64_t)) {
        size_t length = (size_t)(ends[order[at] + 1] - ends[order[at]]);
#if defined(__GNUC__) /* lines of a query lie all over the memory: ask for one some time before it is copied */
        if (at + 16 < last)
            __builtin_prefetch(BYTES(apart->text) + ends[order[at + 16]]);
#endif
        memcpy(to, BYTES(apart->text) + ends[order[at]], length);
        memcpy(number, LONGS(apart->numbers) + order[at], sizeof(int64_t));
        to += length;
    }
    apart->next = last;
    return Py_BuildValue("(NN)", text, numbers);
}

/* ------------------------------------------------------------------------------------------------- rows
 * In: a chunk of whole lines. Out: a list a column, of bytes; of scores, numbers. A field that is the one above is
 * the same object. Never true: that a line is left out; that the interpreter runs meanwhile.
 */
typedef struct {
    Lines lines;
    int scores; /* the column of scores, or none */
    PyObject *columns[WIDEST];
    PyObject *above[WIDEST]; /* the fields of the row before, which the lists hold */
} Rows;

static int rows_row(Lines *lines, const Field *fields)
{
    Rows *rows = (Rows *)lines;
    for (int at = 0; at < lines->width; at++) {
        Field field = fields[at];
        PyObject *found = rows->above[at];
        if (field.length > lines->id_limit)
            return ODD;
        if (at == rows->scores) {
            double score;
            if (!score_of(lines, field, &score))
                return ODD;
            found = PyFloat_FromDouble(score);
        } else if (found && (size_t)PyBytes_Size(found) == field.length &&
                   !memcmp(PyBytes_AsString(found), field.start, field.length)) {
            Py_INCREF(found);
        } else {
            found = PyBytes_FromStringAndSize((const char *)field.start, (Py_ssize_t)field.length);
        }
        if (!found)
            return NO_MEMORY;
        int failed = PyList_Append(rows->columns[at], found);
        Py_DECREF(found);
        if (failed)
            return NO_MEMORY;
        rows->above[at] = found;
    }
    return FINE;
}

PyDoc_STRVAR(columns_doc,
             "columns(chunk, width, scores, id_limit, line_limit, tabbed)\n"
             "--\n\n"
             "Return the columns of whole lines of `width` fields, a list each; None if something is odd or a line\n"
             "has no row. Those of column `scores` (-1: none) are numbers.");

static PyObject *columns(PyObject *Py_UNUSED(module), PyObject *args)
{
    Rows rows = {0};
    Py_buffer chunk;
    Py_ssize_t id_limit, line_limit;
    int width, tabbed, code = NO_MEMORY;
    if (!PyArg_ParseTuple(args, "y*iinnp:columns", &chunk, &width, &rows.scores, &id_limit, &line_limit, &tabbed))
        return NULL;
    PyObject *found = NULL;
    if (width < 1 || width > WIDEST)
        PyErr_Format(PyExc_ValueError, "expected 1 to %d fields, found %d", WIDEST, width);
    else if (settle(&rows.lines, width, id_limit, line_limit, tabbed) == 0 && (found = PyList_New(width))) {
        code = FINE;
        for (int at = 0; at < width && code == FINE; at++) {
            rows.columns[at] = PyList_New(0); /* the list of columns owns it */
            code = rows.columns[at] && PyList_SetItem(found, at, rows.columns[at]) == 0 ? FINE : NO_MEMORY;
        }
        if (code == FINE)
            code = lines_feed(&rows.lines, rows_row, chunk.buf, (size_t)chunk.len);
        if (code == NO_MEMORY)
            PyErr_NoMemory();
        else if (code != FINE || PyList_Size(rows.columns[0]) != rows.lines.count)
            code = ODD;
    }
    PyBuffer_Release(&chunk);
    scratch_free(&rows.lines.text, 1);
    scratch_free(&rows.lines.separators, 1);
    if (code != FINE)
        Py_CLEAR(found);
    return code == ODD ? Py_NewRef(Py_None) : found;
}

/* ------------------------------------------------------------------------------------------- the module */
static PyMethodDef functions[] = {
    {"ideal_orders", ideal_orders, METH_VARARGS, ideal_orders_doc},
    {"gain_sums", gain_sums, METH_VARARGS, gain_sums_doc},
    {"lines_before", lines_before, METH_O, lines_before_doc},
    {"qrels_new", qrels_new, METH_VARARGS, qrels_new_doc},
    {"qrels_feed", qrels_feed, METH_VARARGS, qrels_feed_doc},
    {"qrels_add", qrels_add, METH_VARARGS, qrels_add_doc},
    {"qrels_end", qrels_end, METH_O, qrels_end_doc},
    {"qrels_numbers", qrels_numbers, METH_VARARGS, qrels_numbers_doc},
    {"join_new", join_new, METH_VARARGS, join_new_doc},
    {"join_feed", join_feed, METH_VARARGS, join_feed_doc},
    {"join_add", join_add, METH_VARARGS, join_add_doc},
    {"join_end", join_end, METH_O, join_end_doc},
    {"apart_new", apart_new, METH_VARARGS, apart_new_doc},
    {"apart_feed", apart_feed, METH_VARARGS, apart_feed_doc},
    {"apart_next", apart_next, METH_VARARGS, apart_next_doc},
    {"columns", columns, METH_VARARGS, columns_doc},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module)
{
    return PyModule_AddIntConstant(module, "INTERFACE", INTERFACE);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, (void *)fill},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "rageval._kernel", "The compiled part of rageval.", 0, functions, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    return PyModuleDef_Init(&definition);
}
