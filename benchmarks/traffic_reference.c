/* The online traffic test in C, for the benchmark: the same arithmetic, players in an open-addressing table by their
   code, a block of look-ups prefetched before it is used. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

enum { WIN = 100, ACN = 19, ACV = 5, BLOCK = 256, EMPTY = 0 };
static const double ACTHR = -0.15, ITRT2 = 0.3;
static const int64_t ITTHR1 = 2000000, ITTHR2 = 6000000, SESSION = 600000000;

typedef struct {
    int64_t at, since, squares, products;
    uint32_t key, total, window;
    uint16_t first, previous, packets, position, votes, abstained, gaps1, gaps2, sizes1, sizes2;
} slot;

typedef struct {
    int64_t since, until;
    uint32_t key, window;
    uint16_t gaps1, gaps2, sizes1, sizes2, votes, valid;
    int8_t autocorrelation;
    uint8_t regular, peak, lengths, bot;
} decision;

typedef struct {
    slot *slots;
    uint64_t mask;
    uint64_t players;
} table;

table *table_new(uint64_t size) {
    table *t = malloc(sizeof *t);
    if (posix_memalign((void **)&t->slots, 64, size * sizeof(slot))) abort();
    for (uint64_t i = 0; i < size; i++) t->slots[i] = (slot){0};
    t->mask = size - 1;
    t->players = 0;
    return t;
}

void table_free(table *t) { free(t->slots); free(t); }
uint64_t table_players(table *t) { return t->players; }
uint64_t slot_bytes(void) { return sizeof(slot); }
uint64_t decision_bytes(void) { return sizeof(decision); }

static inline void restart(slot *p) {
    p->packets = p->position = p->votes = p->abstained = 0;
    p->gaps1 = p->gaps2 = p->sizes1 = p->sizes2 = 0;
}

static inline void vote(slot *p) {
    int64_t f = p->first, l = p->previous, x = (int64_t)p->total - f, y = (int64_t)p->total - l;
    int64_t a = ACN * (p->squares - f * f) - x * x, b = ACN * (p->squares - l * l) - y * y, c = ACN * p->products - x * y;
    if (a <= 0 || b <= 0) p->abstained++;
    else p->votes += (double)c / sqrt((double)a * (double)b) < ACTHR;
    p->position = 0;
}

static inline void finish(slot *p, decision *d) {
    int valid = ACV - p->abstained, silent = 2 * valid < ACV, says = !silent && 2 * p->votes > valid;
    int regular = p->gaps1 < 1, peak = p->gaps1 > 0 && (double)p->gaps2 / p->gaps1 > ITRT2;
    int lengths = p->sizes1 < 1 && p->sizes2 < 7;
    *d = (decision){p->since, p->at, p->key - 1, p->window, p->gaps1, p->gaps2, p->sizes1, p->sizes2, p->votes,
                    (uint16_t)valid, (int8_t)(silent ? -1 : says), (uint8_t)regular, (uint8_t)peak, (uint8_t)lengths,
                    (uint8_t)(lengths + (regular || peak) + says >= 2)};
    p->window++;
    restart(p);
}

static inline int count(slot *p, int64_t at, int32_t size, int fresh) {
    if (fresh || at - p->at > SESSION) restart(p);
    else {
        int64_t gap = at - p->at;
        if (gap < 0) at = p->at;
        else if (gap > ITTHR1) { p->gaps1++; p->gaps2 += gap > ITTHR2; }
    }
    if (p->packets == 0) p->since = at;
    p->at = at;
    p->sizes1 += size > 59;
    p->sizes2 += size > 50;
    int64_t x = size;
    if (p->position == 0) { p->first = (uint16_t)x; p->total = (uint32_t)x; p->squares = x * x; p->products = 0; }
    else { p->total += (uint32_t)x; p->squares += x * x; p->products += x * p->previous; }
    p->previous = (uint16_t)x;
    p->packets++;
    if (++p->position > ACN) vote(p);
    return p->packets == WIN;
}

static inline uint64_t place(table *t, uint32_t key) { return (key * 0x9E3779B97F4A7C15ull >> 24) & t->mask; }

int64_t push(table *t, const int32_t *code, const int64_t *at, const uint8_t *up, const int32_t *size, int64_t rows,
             decision *out) {
    uint64_t places[BLOCK];
    int64_t mine[BLOCK], done = 0;
    for (int64_t block = 0; block < rows; block += BLOCK) {
        int64_t end = block + BLOCK < rows ? block + BLOCK : rows, found = 0;
        for (int64_t row = block; row < end; row++)
            if (up[row >> 3] >> (row & 7) & 1) {
                uint64_t where = place(t, (uint32_t)code[row] + 1);
                __builtin_prefetch(&t->slots[where], 1);
                places[found] = where;
                mine[found++] = row;
            }
        for (int64_t i = 0; i < found; i++) {
            uint32_t key = (uint32_t)code[mine[i]] + 1;
            uint64_t where = places[i];
            while (t->slots[where].key != key && t->slots[where].key != EMPTY) where = (where + 1) & t->mask;
            slot *p = &t->slots[where];
            int fresh = p->key == EMPTY;
            if (fresh) { p->key = key; t->players++; }
            if (count(p, at[mine[i]], size[mine[i]], fresh)) finish(p, &out[done++]);
        }
    }
    return done;
}

/* The same with players in a plain array by their code: no table at all. */
int64_t push_dense(slot *players, const int32_t *code, const int64_t *at, const uint8_t *up, const int32_t *size,
                   int64_t rows, decision *out) {
    int64_t done = 0;
    for (int64_t block = 0; block < rows; block += BLOCK) {
        int64_t end = block + BLOCK < rows ? block + BLOCK : rows;
        for (int64_t row = block; row < end; row++) __builtin_prefetch(&players[code[row]], 1);
        for (int64_t row = block; row < end; row++)
            if (up[row >> 3] >> (row & 7) & 1) {
                slot *p = &players[code[row]];
                int fresh = p->key == EMPTY;
                p->key = (uint32_t)code[row] + 1;
                if (count(p, at[row], size[row], fresh)) finish(p, &out[done++]);
            }
    }
    return done;
}
