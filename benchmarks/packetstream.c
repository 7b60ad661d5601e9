/* A packetstream to columns, as one would write it by hand: the yardstick of bench_packetstream.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int32_t length, connect, place, target, action, account, character;
} layout_t;

typedef struct {
    int64_t *session, *at, *target, *account, *character;
    uint16_t *id;
    int16_t *x, *y, *action;
} rows_t;

static uint16_t u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
static uint32_t u32(const uint8_t *p) { return (uint32_t)u16(p) | (uint32_t)u16(p + 2) << 16; }

/* Returns how many messages the file holds, or minus the place it could not be read at. */
int64_t read_stream(const char *path, const layout_t *layout, rows_t *rows, int64_t capacity) {
    FILE *file = fopen(path, "rb");
    if (!file) return -1;
    fseek(file, 0, SEEK_END);
    int64_t end = ftell(file);
    rewind(file);
    uint8_t *data = malloc(end);
    if (fread(data, 1, end, file) != (size_t)end) return -1;
    fclose(file);
    int64_t offset = 0, count = 0, at = -1, session = -1;
    while (offset < end) {
        const uint8_t *p = data + offset;
        if (offset + 12 <= end && memcmp(p, "ADAM", 4) == 0) {
            at = (int64_t)u32(p + 4) * 1000000 + u32(p + 8);
            offset += 12;
            continue;
        }
        if (offset + 2 > end || count == capacity) return -offset;
        uint16_t id = u16(p);
        const layout_t *entry = layout + id;
        int64_t size = entry->length;
        if (size == -1) {
            if (offset + 4 > end) return -offset;
            size = u16(p + 2);
            if (size < 4) return -offset;
        }
        if (size < 2 || offset + size > end) return -offset;
        if (entry->connect || session < 0) {
            session++;
            rows->account[session] = entry->connect && entry->account + 4 <= size ? (int64_t)u32(p + entry->account) : -1;
            rows->character[session] = entry->connect && entry->character + 4 <= size ? (int64_t)u32(p + entry->character) : -1;
        }
        int64_t x = -1, y = -1, target = -1, action = -1;
        if (entry->place && entry->place + 3 <= size) {
            const uint8_t *q = p + entry->place;
            x = q[0] * 4 + (q[1] >> 6);
            y = ((q[1] & 0x3f) << 4) + (q[2] >> 4);
        }
        if (entry->target && entry->target + 4 <= size) target = u32(p + entry->target);
        if (entry->action && entry->action < size) action = p[entry->action];
        rows->session[count] = session;
        rows->at[count] = at;
        rows->id[count] = id;
        rows->x[count] = (int16_t)x;
        rows->y[count] = (int16_t)y;
        rows->target[count] = target;
        rows->action[count] = (int16_t)action;
        count++;
        offset += size;
    }
    free(data);
    return count;
}
