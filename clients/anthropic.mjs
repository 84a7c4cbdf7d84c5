// The npm package @anthropic-ai/sdk.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { failure, know, run, soon } from "./checks.mjs";

const clientOf = (apiKey) => new Anthropic({ baseURL: know.base, apiKey, authToken: null, maxRetries: 0 });
const client = clientOf(know.key);
const params = {
  model: "claude-test-1",
  max_tokens: 1000,
  system: [{ type: "text", text: "You are a coding agent.", cache_control: { type: "ephemeral" } }],
  tools: [{ name: "run", description: "Runs a command.", input_schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] } }],
  messages: [{ role: "user", content: "Run the tests. \u{1F680} <&> \"quoted\"" }],
  metadata: { user_id: "somebody" },
};
const { tools, ...plain } = params;

const look = (e) => ({
  api: e instanceof Anthropic.APIError, status: e.status, body: e.error, message: e.message, retryAfter: e.headers?.get("retry-after"),
});

async function converse(headers, ask) {
  const messages = [...params.messages];
  const seen = [];
  for (;;) {
    const answer = await ask({ ...params, messages }, { headers });
    seen.push(answer);
    messages.push({ role: "assistant", content: answer.content });
    if (answer.stop_reason !== "tool_use") {
      assert.equal(answer.content[0].text, "One test fails.");
      assert.equal(seen.length, 2);
      return seen;
    }
    const calls = answer.content.filter((block) => block.type === "tool_use");
    assert.deepEqual(calls.map((c) => [c.name, c.input]), [["run", { command: "go test ./..." }]]);
    messages.push({ role: "user", content: calls.map((c) => ({ type: "tool_result", tool_use_id: c.id, content: [{ type: "text", text: know.output }], cache_control: { type: "ephemeral" } })) });
  }
}

const transparent = {
  "messages": async (headers) => {
    const { data, request_id } = await client.messages.create(plain, { headers }).withResponse();
    assert.ok(request_id);
    return { data, request_id };
  },
  "messages streamed": async (headers) => {
    const events = [];
    for await (const event of await client.messages.create({ ...plain, stream: true }, { headers })) events.push(event);
    assert.equal(events.at(-1).type, "message_stop");
    return events;
  },
  "tools": (headers) => converse(headers, (p, options) => client.messages.create(p, options)),
  "tools streamed": (headers) => converse(headers, (p, options) => client.messages.stream(p, options).finalMessage()),
  "thinking goes back": async (headers) => {
    const content = [
      { type: "thinking", thinking: "The user wants the tests.", signature: "c2lnbmVk+/==" },
      { type: "tool_use", id: "toolu_9", name: "run", input: { command: "go test ./..." } },
    ];
    const result = { type: "tool_result", tool_use_id: "toolu_9", content: know.output };
    const messages = [...params.messages, { role: "assistant", content }, { role: "user", content: [result] }];
    return client.messages.create({ ...params, messages, thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 2000 }, { headers });
  },
  "beta": (headers) => client.beta.messages.create({ ...plain, betas: ["context-management-2025-06-27"] }, { headers }),
  "count tokens": (headers) => client.messages.countTokens({ model: params.model, messages: params.messages, tools }, { headers }),
  "error 400": (headers) => failure(client.messages.create({ ...plain, model: "claude-fails-400" }, { headers }), look),
  "error 404": (headers) => failure(client.messages.create({ ...plain, model: "claude-fails-404" }, { headers }), look),
  "error 429": (headers) => failure(client.messages.create({ ...plain, model: "claude-fails-429" }, { headers }), look),
  "error 529": (headers) => failure(client.messages.create({ ...plain, model: "claude-fails-529" }, { headers }), look),
  "error in the stream": async (headers) => {
    const events = [];
    const error = await failure((async () => {
      for await (const event of await client.messages.create({ ...plain, model: "claude-breaks", stream: true }, { headers })) events.push(event);
    })(), look);
    return { events, error };
  },
  "aborted": async (headers) => {
    const events = [];
    for await (const event of await client.messages.create({ ...plain, model: "claude-endless", stream: true }, { headers })) {
      events.push(event);
      if (events.length === 3) break;
    }
    return events;
  },
};

const gateway = {
  "models list": async () => {
    const ids = [];
    for await (const m of client.models.list()) ids.push(m.id);
    return ids;
  },
  "no such key": (headers) => failure(clientOf("sk-stranger").messages.create(plain, { headers }), look),
  "not this model": (headers) => failure(client.messages.create({ ...plain, model: "o9-secret" }, { headers }), look),
  "no such model": (headers) => failure(clientOf(know.anything).messages.create({ ...plain, model: "nobody-has-this" }, { headers }), look),
  "too many requests": async (headers) => {
    const limited = clientOf(know.limited);
    await limited.messages.create(plain, { headers });
    return soon(await failure(limited.messages.create({ ...plain, stream: true }, { headers }), look));
  },
  "what it saved": async (headers) => {
    const messages = [
      ...params.messages,
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_7", name: "run", input: { command: "go test ./..." } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_7", content: know.output }] },
    ];
    const { response } = await client.messages.create({ ...params, messages }, { headers }).withResponse();
    const saved = Number(response.headers.get("x-gateway-saved-bytes"));
    assert.ok(saved > know.output.length / 2);
    assert.equal(response.headers.get("x-gateway-applied"), `rtk=standard;saved=${saved}`);
    return { route: response.headers.get("x-gateway-route"), attempts: response.headers.get("x-gateway-attempts") };
  },
};

await run({ transparent, gateway });
