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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0
#error "sums of doubles must be rounded to double; rageval works without this part"
#endif

#define INTERFACE 1 /* what rageval/kernel.py expects; one more whenever a function changes */

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

static int scratch_room(Scratch *scratch, size_t count, size_t width)
{
    if (count <= scratch->room)
        return 0;
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
 * topic; its id is id_length[d] bytes from id_start[d]. A nugget that c documents above support is worth
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
    const int64_t *topics, *begin, *id_start, *id_length;
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
    int64_t start = ideal->id_start[at], length = ideal->id_length[at];
    if (start < 0 || length < 0 || start > ideal->n_id_bytes || length > ideal->n_id_bytes - start)
        return ideal_wrong(ideal, "id_start, id_length: expected places in the bytes of the ids");
    document->id = ideal->ids + start;
    document->id_length = (size_t)length;
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

enum { TOPICS, BEGIN, NUGGET, GRADE, IDS, ID_START, ID_LENGTH, WORTH, COLUMNS };

static int ideal_open(Ideal *ideal, Column *columns, PyObject **given)
{
    static const char *const names[] = {"topics", "begin",    "nugget",    "grade",
                                        "ids",    "id_start", "id_length", "worth"};
    static const char *const formats[] = {"lq", "lq", "il", "il", "Bbc", "lq", "lq", "d"};
    static const Py_ssize_t widths[] = {8, 8, 4, 4, 1, 8, 8, 8};
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
    if (columns[ID_START].length != ideal->n_documents || columns[ID_LENGTH].length != ideal->n_documents) {
        PyErr_SetString(PyExc_ValueError, "id_start, id_length: expected a number for every document");
        return -1;
    }
    ideal->topics = columns[TOPICS].view.buf;
    ideal->begin = columns[BEGIN].view.buf;
    ideal->nugget = columns[NUGGET].view.buf;
    ideal->grade = columns[GRADE].view.buf;
    ideal->ids = columns[IDS].view.buf;
    ideal->id_start = columns[ID_START].view.buf;
    ideal->id_length = columns[ID_LENGTH].view.buf;
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
             "ideal_orders(topics, begin, nugget, grade, ids, id_start, id_length, worth, n_nuggets, rel, k)\n"
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
    if (!PyArg_ParseTuple(args, "OOOOOOOOiiL:ideal_orders", &given[TOPICS], &given[BEGIN], &given[NUGGET],
                          &given[GRADE], &given[IDS], &given[ID_START], &given[ID_LENGTH], &given[WORTH],
                          &n_nuggets, &rel, &k))
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

/* ------------------------------------------------------------------------------------------- the module */
static PyMethodDef functions[] = {
    {"ideal_orders", ideal_orders, METH_VARARGS, ideal_orders_doc},
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
