// The npm package ai (Vercel's AI SDK) with its providers for OpenAI and
// Anthropic.
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { APICallError, embedMany, generateObject, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { failure, know, run } from "./checks.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const providersOf = (apiKey) => ({ openai: createOpenAI({ baseURL: know.base + "/v1", apiKey }), anthropic: createAnthropic({ baseURL: know.base + "/v1", apiKey }) });
const { openai, anthropic } = providersOf(know.key);
const models = {
  "chat": openai.chat("gpt-5-mini"),
  "responses": openai.responses("gpt-5-mini"),
  "messages": anthropic("claude-test-1"),
};
const agent = (model, headers) => ({
  model, headers, maxRetries: 0, stopWhen: stepCountIs(3),
  system: "You are a coding agent.", prompt: "Run the tests.",
  tools: { run: tool({ description: "Runs a command.", inputSchema: z.object({ command: z.string() }), execute: () => know.output }) },
});

const look = (e) => ({ api: APICallError.isInstance(e), status: e.statusCode, message: e.message, body: e.responseBody, retryable: e.isRetryable });

// seen is what of a result does not depend on the clock or on chance.
const seen = async (result) => ({
  text: await result.text, finishReason: await result.finishReason, usage: await result.totalUsage,
  steps: (await result.steps).map((s) => ({
    text: s.text, finish: s.finishReason, calls: s.toolCalls.map((c) => [c.toolCallId, c.toolName, c.input]),
    results: s.toolResults.map((r) => [r.toolCallId, r.output]), usage: s.usage, model: s.response.modelId, id: s.response.id,
  })),
});

const transparent = {};
const gateway = {};
for (const [name, model] of Object.entries(models)) {
  transparent[name + " generated"] = async (headers) => {
    const saw = await seen(await generateText(agent(model, headers)));
    assert.equal(saw.text, "One test fails.");
    assert.equal(saw.steps.length, 2);
    return saw;
  };
  transparent[name + " streamed"] = async (headers) => {
    const failed = [];
    const result = streamText({ ...agent(model, headers), onError: ({ error }) => failed.push(error) });
    const parts = [];
    for await (const text of result.textStream) parts.push(text);
    assert.deepEqual(failed, []);
    const saw = await seen(result);
    assert.equal(saw.text, "One test fails.");
    assert.equal(saw.steps.length, 2);
    return { parts, saw };
  };
}
transparent["object"] = async (headers) => {
  const { object, usage } = await generateObject({ model: models.chat, headers, maxRetries: 0, schema: z.object({ command: z.string() }), prompt: "Which command?" });
  assert.deepEqual(object, { command: "none" });
  return { object, usage };
};
transparent["embeddings"] = async (headers) => {
  const { embeddings, usage } = await embedMany({ model: openai.embedding("text-embedding-3-small"), headers, maxRetries: 0, values: ["one", "two"] });
  assert.deepEqual(embeddings, [[0.25, 0.5], [-1, 2]]);
  return { embeddings, usage };
};
const ask = (model, headers) => failure(generateText({ model, headers, maxRetries: 0, prompt: "Run the tests." }), look);
transparent["chat error 404"] = (headers) => ask(openai.chat("gpt-fails-404"), headers);
transparent["chat error 429"] = (headers) => ask(openai.chat("gpt-fails-429"), headers);
transparent["responses error 400"] = (headers) => ask(openai.responses("gpt-fails-400"), headers);
transparent["messages error 404"] = (headers) => ask(anthropic("claude-fails-404"), headers);
transparent["messages error 529"] = (headers) => ask(anthropic("claude-fails-529"), headers);

const strangers = providersOf("sk-stranger");
gateway["openai: no such key"] = (headers) => ask(strangers.openai("gpt-5-mini"), headers);
gateway["anthropic: no such key"] = (headers) => ask(strangers.anthropic("claude-test-1"), headers);
gateway["openai: not this model"] = (headers) => ask(openai("o9-secret"), headers);
gateway["anthropic: not this model"] = (headers) => ask(anthropic("o9-secret"), headers);
gateway["too many requests"] = async (headers) => {
  const limited = providersOf(know.limited).openai;
  await generateText({ model: limited("gpt-5-mini"), headers, maxRetries: 0, prompt: "Run the tests." });
  return ask(limited("gpt-5-mini"), headers);
};

await run({ transparent, gateway });
