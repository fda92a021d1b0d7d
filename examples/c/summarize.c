/* Summarizes text files with a model that tfsum exported, by TensorFlow's C API alone.
 *
 *   make
 *   ./summarize ../../saved_models/bert_sum_ext_news_en/3 ../article.txt
 *
 * Prints the output `summary` of the signature serving_default for each file, and a new line after it.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tensorflow/c/c_api.h>

static void fail(const char *what, const char *why) {
  fprintf(stderr, "summarize: %s: %s\n", what, why);
  exit(1);
}

static void check(const TF_Status *status, const char *what) {
  if (TF_GetCode(status) != TF_OK) fail(what, TF_Message(status));
}

/* Protocol buffers, as far as they are needed to find the names of tensors in a signature. */

typedef struct {
  const uint8_t *at, *end;
} Message;

static uint64_t varint(Message *from) {
  uint64_t value = 0;
  for (int shift = 0; from->at < from->end && shift < 64; shift += 7) {
    const uint8_t byte = *from->at++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return value;
  }
  fail("the SavedModel", "its signatures cannot be read");
  return 0;
}

/* Whether `from` has another field of this number that holds bytes; they are `found` then, and `from` is after it. */
static int next(Message *from, uint64_t number, Message *found) {
  while (from->at < from->end) {
    const uint64_t key = varint(from), kind = key & 7;
    if (kind == 0) {
      varint(from);
      continue;
    }
    const uint64_t size = kind == 2 ? varint(from) : kind == 1 ? 8 : 4;
    if (size > (uint64_t)(from->end - from->at)) fail("the SavedModel", "its signatures are cut off");
    found->at = from->at;
    found->end = from->at += size;
    if (kind == 2 && key >> 3 == number) return 1;
  }
  return 0;
}

/* The value of a key in the map that is field `number` of a message. */
static int lookup(Message in, uint64_t number, const char *key, Message *value) {
  for (Message entry; next(&in, number, &entry);) {
    Message name = {0}, copy = entry;
    if (next(&copy, 1, &name) && (size_t)(name.end - name.at) == strlen(key) && !memcmp(name.at, key, strlen(key)))
      return next(&entry, 2, value);
  }
  return 0;
}

/* The tensor of the graph that a signature calls `key`; `side` is 1 for inputs and 2 for outputs. */
static TF_Output tensor(TF_Graph *graph, Message signature, uint64_t side, const char *key) {
  Message info, name;
  char text[256];
  if (!lookup(signature, side, key, &info) || !next(&info, 1, &name) || name.end - name.at >= (long)sizeof text)
    fail(key, "serving_default has no such tensor");
  memcpy(text, name.at, name.end - name.at);
  text[name.end - name.at] = 0;
  char *colon = strrchr(text, ':');
  const int index = colon ? atoi(colon + 1) : 0;
  if (colon) *colon = 0;
  const TF_Output found = {TF_GraphOperationByName(graph, text), index};
  if (!found.oper) fail(text, "is not in the graph");
  return found;
}

static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (!file) fail(path, "cannot be opened");
  char *text = NULL;
  *size = 0;
  for (size_t room = 1 << 16, got = 1; got; *size += got, room *= 2) {
    if (!(text = realloc(text, room))) fail(path, "is too large for the memory");
    got = fread(text + *size, 1, room - *size, file);
  }
  if (ferror(file)) fail(path, "cannot be read");
  fclose(file);
  return text;
}

int main(int count, char **words) {
  if (count < 3) fail("usage", "summarize MODEL FILE...");
  TF_Status *status = TF_NewStatus();
  TF_Graph *graph = TF_NewGraph();
  TF_SessionOptions *options = TF_NewSessionOptions();
  TF_Buffer *meta_graph = TF_NewBuffer();
  const char *const tags[] = {"serve"};
  TF_Session *session = TF_LoadSessionFromSavedModel(options, NULL, words[1], tags, 1, graph, meta_graph, status);
  check(status, words[1]);

  const uint8_t *bytes = meta_graph->data;
  const Message model = {bytes, bytes + meta_graph->length};
  Message signature;
  if (!lookup(model, 5, "serving_default", &signature)) fail(words[1], "has no signature serving_default");
  const TF_Output input = tensor(graph, signature, 1, "text"), output = tensor(graph, signature, 2, "summary");

  for (int i = 2; i < count; i++) {
    size_t size;
    char *text = read_file(words[i], &size);
    const int64_t rows = 1;
    TF_Tensor *given = TF_AllocateTensor(TF_STRING, &rows, 1, sizeof(TF_TString)), *answer = NULL;
    TF_TString *string = TF_TensorData(given);
    TF_StringInit(string);
    TF_StringCopy(string, text, size);
    free(text);
    TF_SessionRun(session, NULL, &input, &given, 1, &output, &answer, 1, NULL, 0, NULL, status);
    check(status, words[i]);
    const TF_TString *summary = TF_TensorData(answer);
    fwrite(TF_StringGetDataPointer(summary), 1, TF_StringGetSize(summary), stdout);
    putchar('\n');
    TF_StringDealloc(string);
    TF_DeleteTensor(given);
    TF_DeleteTensor(answer);
  }

  TF_CloseSession(session, status);
  TF_DeleteSession(session, status);
  TF_DeleteBuffer(meta_graph);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
