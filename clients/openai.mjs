// The npm package openai.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { failure, know, run, soon } from "./checks.mjs";

const clientOf = (apiKey) => new OpenAI({ baseURL: know.base + "/v1", apiKey, maxRetries: 0, organization: null, project: null });
const client = clientOf(know.key);
const model = "gpt-5-mini";
const parameters = { type: "object", properties: { command: { type: "string" } }, required: ["command"], additionalProperties: false };
const chatTools = [{ type: "function", function: { name: "run", description: "Runs a command.", parameters, strict: true } }];
const responseTools = [{ type: "function", name: "run", description: "Runs a command.", parameters, strict: true }];
const question = [
  { role: "system", content: "You are a coding agent." },
  { role: "user", content: [{ type: "text", text: "Run the tests. \u{1F680} <&> \"quoted\"\ttab" }] },
];

const look = (e) => ({
  api: e instanceof OpenAI.APIError, status: e.status, code: e.code, type: e.type, message: e.message, retryAfter: e.headers?.get("retry-after"),
});

// converse makes turns until the model has an answer.
async function converse(headers, ask) {
  const messages = [...question];
  const seen = [];
  for (;;) {
    const answer = await ask({ model, messages, tools: chatTools, seed: 7, metadata: { suite: "clients" } }, { headers });
    seen.push(answer);
    const { message } = answer.choices[0];
    messages.push(message);
    if (!message.tool_calls?.length) {
      assert.equal(message.content, "One test fails.");
      assert.equal(seen.length, 2);
      return seen;
    }
    for (const call of message.tool_calls) {
      assert.equal(call.function.name, "run");
      assert.deepEqual(JSON.parse(call.function.arguments), { command: "go test ./..." });
      messages.push({ role: "tool", tool_call_id: call.id, content: know.output });
    }
  }
}

const transparent = {
  "chat": async (headers) => {
    const { data, response } = await client.chat.completions.create({ model, messages: question }, { headers }).withResponse();
    return { data, id: data._request_id, type: response.headers.get("content-type") };
  },
  "chat streamed": async (headers) => {
    const chunks = [];
    for await (const chunk of await client.chat.completions.create({ model, messages: question, stream: true, stream_options: { include_usage: true } }, { headers })) {
      chunks.push(chunk);
    }
    assert.ok(chunks.at(-1).usage.total_tokens > 0);
    return chunks;
  },
  "chat tools": (headers) => converse(headers, (params, options) => client.chat.completions.create(params, options)),
  "chat tools streamed": (headers) => converse(headers, (params, options) => client.chat.completions.stream(params, options).finalChatCompletion()),
  "chat parsed": async (headers) => {
    const response_format = { type: "json_schema", json_schema: { name: "verdict", strict: true, schema: parameters } };
    const { choices } = await client.chat.completions.parse({ model, messages: question, response_format }, { headers });
    assert.deepEqual(choices[0].message.parsed, { command: "none" });
    return choices;
  },
  "responses": async (headers) => {
    const first = await client.responses.create({ model, input: "Run the tests.", tools: responseTools }, { headers });
    const [call] = first.output.filter((item) => item.type === "function_call");
    assert.equal(call.name, "run");
    const input = [{ role: "user", content: "Run the tests." }, ...first.output, { type: "function_call_output", call_id: call.call_id, output: know.output }];
    const second = await client.responses.create({ model, input, tools: responseTools }, { headers });
    assert.equal(second.output_text, "One test fails.");
    return [first, second];
  },
  "responses streamed": async (headers) => {
    const events = [];
    const input = [{ role: "user", content: "Run the tests." }];
    for (let turn = 0; turn < 2; turn++) {
      const stream = client.responses.stream({ model, input, tools: responseTools }, { headers });
      for await (const event of stream) events.push(event);
      const final = await stream.finalResponse();
      const call = final.output.find((item) => item.type === "function_call");
      assert.equal(call === undefined, turn === 1);
      if (call) {
        const { parsed_arguments, ...item } = call;
        input.push(item, { type: "function_call_output", call_id: call.call_id, output: know.output });
      } else {
        assert.equal(final.output_text, "One test fails.");
      }
    }
    return events;
  },
  "embeddings": async (headers) => {
    const answer = await client.embeddings.create({ model: "text-embedding-3-small", input: ["one", "two"] }, { headers });
    assert.deepEqual(answer.data.map((d) => d.embedding), [[0.25, 0.5], [-1, 2]]);
    return answer;
  },
  "model retrieved": (headers) => client.models.retrieve(model, { headers }),
  "error 400": (headers) => failure(client.chat.completions.create({ model: "gpt-fails-400", messages: question }, { headers }), look),
  "error 404": (headers) => failure(client.chat.completions.create({ model: "gpt-fails-404", messages: question }, { headers }), look),
  "error 429": (headers) => failure(client.chat.completions.create({ model: "gpt-fails-429", messages: question }, { headers }), look),
  "error 500": (headers) => failure(client.chat.completions.create({ model: "gpt-fails-500", messages: question }, { headers }), look),
  "error 429 streamed": (headers) => failure(client.chat.completions.create({ model: "gpt-streams-429", messages: question, stream: true }, { headers }), look),
  "error in the stream": async (headers) => {
    const chunks = [];
    const error = await failure((async () => {
      for await (const chunk of await client.chat.completions.create({ model: "gpt-breaks", messages: question, stream: true }, { headers })) chunks.push(chunk);
    })(), look);
    return { chunks, error };
  },
  "aborted": async (headers) => {
    const chunks = [];
    for await (const chunk of await client.chat.completions.create({ model: "gpt-endless", messages: question, stream: true }, { headers })) {
      chunks.push(chunk);
      if (chunks.length === 2) break;
    }
    return chunks;
  },
};

const gateway = {
  "models list": async () => {
    const ids = [];
    for await (const m of client.models.list()) ids.push(m.id);
    return ids;
  },
  "no such key": (headers) => failure(clientOf("sk-stranger").chat.completions.create({ model, messages: question }, { headers }), look),
  "not this model": (headers) => failure(client.chat.completions.create({ model: "o9-secret", messages: question }, { headers }), look),
  "no such model": (headers) => failure(clientOf(know.anything).chat.completions.create({ model: "nobody-has-this", messages: question }, { headers }), look),
  "too many requests": async (headers) => {
    const limited = clientOf(know.limited);
    await limited.chat.completions.create({ model, messages: question }, { headers });
    return soon(await failure(limited.chat.completions.create({ model, messages: question, stream: true }, { headers }), look));
  },
  "what it saved": async (headers) => {
    const call = { id: "call_7", type: "function", function: { name: "run", arguments: '{"command":"go test ./..."}' } };
    const messages = [...question, { role: "assistant", content: null, tool_calls: [call] }, { role: "tool", tool_call_id: "call_7", content: know.output }];
    const { response } = await client.chat.completions.create({ model, messages }, { headers }).withResponse();
    const saved = Number(response.headers.get("x-gateway-saved-bytes"));
    assert.ok(saved > know.output.length / 2);
    assert.equal(response.headers.get("x-gateway-applied"), `rtk=standard;saved=${saved}`);
    return { route: response.headers.get("x-gateway-route"), attempts: response.headers.get("x-gateway-attempts") };
  },
};

await run({ transparent, gateway });
