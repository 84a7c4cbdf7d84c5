// Looks at the dashboard in a real browser. The Go tests beside this file
// start what it looks at and read its output: one line of JSON for each check.
//
//	node dashboard.mjs live|history <JSON with addresses and folders>
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import {chromium} from "playwright-core";

const [scenario, arg] = process.argv.slice(2);
const know = JSON.parse(arg);
const address = know.admin + "/llm_gateway/";

const profile = fs.mkdtempSync(path.join(os.tmpdir(), "dashboard-profile-"));
const context = await chromium.launchPersistentContext(profile, {
	executablePath: know.chromium,
	headless: true,
	args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
	viewport: {width: 1440, height: 900},
	colorScheme: "light",
	timezoneId: "Europe/Berlin",
});
const page = context.pages()[0] ?? await context.newPage();
page.setDefaultTimeout(30000);

// Everything that goes wrong in the page, and every address it asks for.
const wrong = [], asked = new Set();
page.on("console", message => { if (["error", "warning"].includes(message.type())) wrong.push(message.text()); });
page.on("pageerror", error => wrong.push(String(error)));
page.on("request", request => asked.add(request.url()));

let failed = false;
async function check(name, run) {
	let error = "";
	try {
		await run();
	} catch (err) {
		failed = true;
		error = err.stack || String(err);
		await page.screenshot({path: path.join(know.shots, "dashboard-failed.png"), fullPage: true}).catch(() => {});
	}
	console.log(JSON.stringify({name, error}));
	if (error) await end();
}
async function end() {
	await context.close();
	fs.rmSync(profile, {recursive: true, force: true});
	process.exit(failed ? 1 : 0);
}

// until waits for what the page says of itself to be true. The function runs
// in the page.
const until = (f, arg) => page.waitForFunction(f, arg);
const text = selector => page.locator(selector).first().innerText();
const shot = async name => {
	await page.evaluate(() => scrollTo(0, 0));
	await page.screenshot({path: path.join(know.shots, "dashboard-" + name + ".png"), fullPage: true});
};
const tile = name => page.evaluate(name => [...document.querySelectorAll(".tile")].find(t => t.querySelector("dt").textContent === name)?.querySelector(".value").textContent, name);
const untilTile = (name, value) => until(([name, value]) => [...document.querySelectorAll(".tile")].some(t => t.querySelector("dt").textContent === name && t.querySelector(".value").textContent === value), [name, value]);
const live = () => until(() => document.getElementById("state").dataset.state === "live");
const names = dimension => page.locator("#by-" + dimension + " tbody th .name").allInnerTexts();
const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
const light = "rgb(244, 246, 248)", dark = "rgb(14, 18, 23)";

function call(method, url, body = "", headers = {}) {
	return new Promise((resolve, reject) => {
		const request = http.request(url, {method, headers: {"Content-Type": "application/json", ...headers}, agent: false}, response => {
			let text = "";
			response.setEncoding("utf8").on("data", part => { text += part; }).on("end", () => resolve({status: response.statusCode, headers: response.headers, text})).on("error", reject);
		});
		request.on("error", reject).end(body);
	});
}
const chat = (model, content, key = "sk-alice") => call("POST", know.site + "/v1/chat/completions", JSON.stringify({model, messages: [{role: "user", content}]}), {Authorization: "Bearer " + key});

// again asks once more where the connection was reset: the kernel resets what waits at the old
// listener when a reload closes it, before Caddy has seen it. The count of requests afterwards
// shows that nothing was asked twice.
async function again(ask) {
	for (let left = 5; ; left--) {
		try {
			return await ask();
		} catch (e) {
			if (e.code !== "ECONNRESET" || left === 0) throw e;
		}
	}
}

// noOverflow holds where the page itself does not scroll sideways.
async function noOverflow(width) {
	await page.setViewportSize({width, height: 844});
	// The charts are drawn anew when the page has its new width, one after the other.
	await until(width => innerWidth === width && document.querySelector(".plot svg line.axis")?.getAttribute("x2") < width &&
		[...document.querySelectorAll(".plot svg")].every(svg => [...svg.querySelectorAll("*")].every(e => e.getBoundingClientRect().right <= innerWidth + 1)), width);
	const found = await page.evaluate(() => ({
		width: document.documentElement.scrollWidth,
		wide: [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, .sr, thead")).slice(0, 5).map(e => e.tagName + "." + e.className + "#" + e.id),
	}));
	assert.ok(found.width <= width, "scrollWidth " + found.width + ": " + found.wide);
	assert.deepEqual(found.wide, []);
}

// accessible checks what a screen reader needs of the markup.
async function accessible() {
	const found = await page.evaluate(() => {
		const bad = [], shown = e => e.checkVisibility();
		const say = (e, what) => bad.push(what + ": " + e.outerHTML.slice(0, 160));
		for (const e of document.querySelectorAll("table")) if (shown(e) && !e.caption && !document.getElementById(e.getAttribute("aria-labelledby"))) say(e, "table without a caption");
		for (const e of document.querySelectorAll("th")) if (shown(e) && !e.scope) say(e, "heading without a scope");
		for (const e of document.querySelectorAll("button, select, [role=slider], [role=region], a[href]")) {
			if (!shown(e)) continue;
			const by = document.getElementById(e.getAttribute("aria-labelledby"));
			if (!(e.getAttribute("aria-label") || by?.textContent || e.labels?.[0]?.textContent || e.textContent).trim()) say(e, "no name");
		}
		for (const e of document.querySelectorAll("[id]")) if (document.querySelectorAll("#" + CSS.escape(e.id)).length > 1) say(e, "id is not unique");
		for (const one of ["h1", "main", "header", "footer"]) if (document.querySelectorAll(one).length !== 1) bad.push("expected one " + one);
		for (const e of document.querySelectorAll("svg")) if (e.getAttribute("aria-hidden") !== "true") say(e, "drawing without a text in its place");
		return bad;
	});
	assert.deepEqual(found, []);
}

// contrast checks the text colours against WCAG's 4.5:1.
async function contrast() {
	const found = await page.evaluate(() => {
		const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
		const paint = colours => {
			canvas.clearRect(0, 0, 1, 1);
			for (const c of colours) { canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); }
			return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
		};
		const luminance = rgb => rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
		const bad = new Set();
		for (const e of document.querySelectorAll("body *")) {
			if (!e.checkVisibility() || e.matches(":disabled") || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
			const behind = [];
			for (let p = e; p; p = p.parentElement) behind.unshift(getComputedStyle(p).backgroundColor);
			const style = getComputedStyle(e), fore = e.namespaceURI.endsWith("svg") ? style.fill : style.color;
			const [a, b] = [luminance(paint(behind)), luminance(paint([...behind, fore]))];
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			if (ratio < 4.5) bad.add(e.tagName + "." + (e.getAttribute("class") || "") + " " + ratio.toFixed(2) + ": " + e.textContent.slice(0, 40));
		}
		return [...bad];
	});
	assert.deepEqual(found, []);
}

async function liveScenario() {
	await check("empty", async () => {
		const response = await page.goto(address);
		assert.equal(response.status(), 200);
		await live();
		await until(() => !document.getElementById("empty").hidden);
		assert.equal(await text("#empty-title"), "No requests yet");
		for (const id of ["summary", "charts", "groups", "recent", "guard", "notice"]) assert.equal(await page.locator("#" + id).isVisible(), false, id);
		assert.equal(await page.locator("#health-table tbody tr").count(), 2);
		await shot("empty");
		await page.evaluate(() => { window.sameDocument = true; });
	});
	await check("traffic as it happens", async () => {
		for (let i = 1; i <= 3; i++) {
			assert.equal((await chat("swift", "question " + i)).status, 200);
			await untilTile("Requests", String(i));
		}
		assert.equal(await page.locator("#empty").isVisible(), false);
		assert.equal(await tile("Tokens in"), "3,600");
		assert.equal(await tile("Tokens out"), "102");
		assert.equal(await tile("Spent"), "$3.80");
		assert.equal(await tile("Cache hit rate"), "0%");
		assert.match(await tile("TTFT, median"), / (ms|s)$/);
		assert.match(await tile("Overhead, median"), / (ms|s)$/);
		assert.equal(await page.locator("#recent-rows tr").count(), 3);
		assert.match(await text("#recent-rows tr"), /swift[^]*working\/key1[^]*alice[^]*200[^]*MISS[^]*1,200[^]*34[^]*\$1\.27/);
	});
	await check("cache hit", async () => {
		assert.equal((await chat("swift", "question 1")).headers["x-gateway-cache"], "HIT");
		await untilTile("Cache hit rate", "25.0%");
		assert.equal(await tile("Spent"), "$3.80");
		assert.equal(await tile("Saved"), "$1.27", "what the answer would have cost");
		assert.match(await page.locator("#tiles").innerText(), /\$1\.27 by the cache/);
		assert.match(await text("#recent-rows tr"), /HIT/);
		assert.equal(await page.locator("#caches").isVisible(), true);
	});
	await check("what was applied and why not", async () => {
		const messages = [
			{role: "user", content: "run the tests"},
			{role: "assistant", content: null, tool_calls: [{id: "call_1", type: "function", function: {name: "bash", arguments: JSON.stringify({command: "go test ./..."})}}]},
			{role: "tool", tool_call_id: "call_1", content: know.toolOutput},
		];
		const response = await call("POST", know.site + "/v1/chat/completions", JSON.stringify({model: "deep", messages}), {Authorization: "Bearer sk-bob"});
		const saved = Number(response.headers["x-gateway-saved-bytes"]);
		assert.ok(saved > 10000, "saved " + saved);
		await untilTile("Requests", "5");
		const did = await text("#recent-rows tr .did");
		const [, kilobytes] = did.match(/rtk standard −([\d.]+) KB/);
		assert.ok(Math.abs(kilobytes * 1000 - saved) <= saved / 100, did + ", saved " + saved);
		assert.equal((await tile("Tokens saved")).replace(",", ""), response.headers["x-gateway-saved-tokens"]);

		const twice = await call("POST", know.site + "/v1/chat/completions", '{"model":"deep","messages":[{"role":"user","content":"please fail"}],"messages":[]}', {Authorization: "Bearer sk-bob"});
		assert.ok(twice.headers["x-gateway-skipped"], "status " + twice.status);
		await untilTile("Requests", "6");
		assert.equal(await text("#recent-rows tr .why"), twice.headers["x-gateway-skipped"]);
		assert.match(await page.locator(".tile .more").first().innerText(), /^1 error \(16\.7%\)$/);
	});
	await check("filters", async () => {
		assert.deepEqual(await names("model"), ["swift", "deep"]);
		assert.deepEqual(await names("key"), ["alice", "<b>bob</b>"]);
		await page.selectOption("#model", "swift");
		await untilTile("Requests", "4");
		assert.deepEqual(await names("model"), ["swift"]);
		assert.deepEqual(await page.locator("#model option").allInnerTexts(), ["All models", "deep", "swift"]);
		assert.equal(await page.locator("#recent-rows tr").count(), 4);
		await page.locator("#clear").click();
		await untilTile("Requests", "6");
		await page.locator("#by-key tbody button", {hasText: "bob"}).click();
		await untilTile("Requests", "2");
		assert.equal(await page.locator("#key").inputValue(), "<b>bob</b>");
		await page.selectOption("#model", "swift");
		await until(() => document.getElementById("empty-title").textContent === "No requests match the filters in the last hour" && !document.getElementById("empty").hidden);
		await page.locator("#empty-action").click();
		await untilTile("Requests", "6");
		await page.selectOption("#range", "24h");
		await until(() => document.querySelector("#chart-requests .head .muted").textContent === "per 15 minutes");
		await page.selectOption("#range", "30d");
		await until(() => document.querySelector("#chart-requests .head .muted").textContent === "per 6 hours");
		assert.equal(await tile("Requests"), "6");
		assert.equal(new URL(page.url()).hash, "#range=30d");
		assert.equal(await page.evaluate(() => window.sameDocument), true);
	});
	await check("a bookmark keeps the view", async () => {
		await page.goto(address + "#range=24h&model=deep");
		await page.reload();
		await untilTile("Requests", "2");
		assert.equal(await page.locator("#range").inputValue(), "24h");
		assert.equal(await page.locator("#model").inputValue(), "deep");
		await page.goto(address + "#range=1h");
		await untilTile("Requests", "6");
		await page.evaluate(() => { window.sameDocument = true; });
	});
	await check("credential health", async () => {
		await chat("refused", "hello");
		await until(() => !document.getElementById("notice").hidden);
		assert.match(await text("#notice"), /1 credential is out of use, of 2: rejecting\/key1 \(rejected by the provider\)/);
		const restore = page.getByRole("button", {name: "Restore credential key1 of provider rejecting"});
		await restore.click();
		await until(() => document.getElementById("notice").hidden);
		assert.match(await text("#health-said"), /Restored rejecting\/key1/);
		assert.equal(await restore.isVisible(), false);
	});
	await check("keyboard", async () => {
		await page.evaluate(() => document.activeElement?.blur());
		await page.reload();
		await untilTile("Requests", "7");
		await page.keyboard.press("Tab");
		assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
		await page.keyboard.press("Enter");
		assert.equal(await page.evaluate(() => document.activeElement.id), "main");
		const chart = page.getByRole("slider", {name: /^Requests, per minute/});
		await chart.focus();
		assert.match(await chart.getAttribute("aria-valuetext"), /^\d\d:\d\d(, so far)?: answered \d+, errors \d+$/);
		await page.keyboard.press("Home");
		assert.equal(await chart.getAttribute("aria-valuenow"), "0");
		assert.match(await chart.getAttribute("aria-valuetext"), /answered 0, errors 0$/);
		await page.keyboard.press("ArrowRight");
		assert.equal(await chart.getAttribute("aria-valuenow"), "1");
		// Focus stays where it is while figures arrive.
		const name = page.locator("#by-model tbody button", {hasText: "swift"});
		await name.focus();
		await chat("deep", "more traffic");
		await untilTile("Requests", "8");
		assert.equal(await page.evaluate(() => document.activeElement.textContent), "swift");
		await page.keyboard.press("Enter");
		await untilTile("Requests", "4");
		await page.keyboard.press("Enter");
		await untilTile("Requests", "8");
	});
	await check("theme", async () => {
		assert.equal(await background(), light);
		await page.getByRole("button", {name: "Dark theme"}).click();
		assert.equal(await background(), dark);
		await page.reload();
		await untilTile("Requests", "8");
		assert.equal(await background(), dark);
		await shot("live-dark");
		await page.getByRole("button", {name: "Light theme"}).click();
		assert.equal(await background(), light);
		await page.evaluate(() => localStorage.clear());
		await page.emulateMedia({colorScheme: "dark"});
		await page.reload();
		await untilTile("Requests", "8");
		assert.equal(await background(), dark);
		await page.emulateMedia({colorScheme: "light"});
		assert.equal(await background(), light);
		await page.evaluate(() => { window.sameDocument = true; });
	});
	await check("narrow", async () => {
		await shot("live");
		await noOverflow(390);
		await shot("live-390");
		await page.setViewportSize({width: 1440, height: 900});
	});
	await check("reload of the configuration", async () => {
		const response = await call("POST", know.admin + "/load", know.reloaded, {"Content-Type": "text/caddyfile"});
		assert.equal(response.status, 200, response.text);
		assert.equal((await again(() => chat("reloaded", "after the reload"))).status, 200);
		await untilTile("Requests", "9");
		await until(() => [...document.querySelectorAll("#model option")].some(o => o.value === "reloaded"));
		assert.equal(await page.evaluate(() => window.sameDocument), true);
		await live();
		assert.equal((await chat("reloaded", "and once more")).status, 200);
		await untilTile("Requests", "10");
		// A page that comes after the reload works as well.
		await page.reload();
		await untilTile("Requests", "10");
		await page.evaluate(() => { window.sameDocument = true; });
	});
	await check("nothing on the console, nothing from elsewhere", async () => {
		assert.deepEqual(wrong, []);
		assert.deepEqual([...asked].filter(url => !url.startsWith(address) && !url.startsWith("data:image/svg+xml")), []);
	});
	await check("restart of the gateway", async () => {
		assert.equal((await call("POST", know.control + "/stop")).status, 200);
		await until(() => document.getElementById("state").dataset.state === "lost");
		assert.match(await text("#state"), /^Connection lost at \d\d:\d\d:\d\d, trying again$/);
		assert.equal(await tile("Requests"), "10", "the last figures stay");
		const response = await call("POST", know.control + "/start");
		assert.equal(response.status, 200, response.text);
		await live();
		assert.equal((await chat("swift", "after the restart")).status, 200);
		await until(() => document.querySelector("#recent-rows tr .name")?.textContent === "swift" && !document.getElementById("summary").hidden);
		assert.equal(await page.evaluate(() => window.sameDocument), true);
		assert.deepEqual(wrong.filter(w => !/net::ERR_/.test(w)), []);
	});
}

async function historyScenario() {
	const [hour, day, month] = know.requests.split(" ").map(n => Number(n).toLocaleString("en-US"));
	await check("hour", async () => {
		await page.goto(address);
		await untilTile("Requests", hour);
		assert.equal(await page.locator("#chart-requests rect[class^=f]").count() > 20, true);
		for (const id of ["ttft", "overhead"]) assert.equal(await page.locator("#chart-" + id + " path.series").count(), 3, id);
		await shot("hour");
	});
	await check("day", async () => {
		await page.selectOption("#range", "24h");
		await untilTile("Requests", day);
		for (const id of ["requests", "tokens", "money", "hits", "ttft", "overhead"]) {
			assert.ok(await page.locator("#chart-" + id + " .plot svg text").count() >= 6, id + " has no axes");
		}
		await shot("desktop");
	});
	await check("month", async () => {
		await page.selectOption("#range", "30d");
		await untilTile("Requests", month);
		await page.locator("#chart-tokens details summary").click();
		await until(() => document.querySelectorAll("#chart-tokens tbody tr").length >= 115);
		await page.locator("#chart-tokens details summary").click();
		await page.locator("#chart-money .plot").hover({position: {x: 200, y: 80}});
		assert.match(await text("#chart-money .readout"), /^\d+ \w+, \d\d:\d\d(, so far)?\s+· spent \$[\d.,]+ · saved \$[\d.,]+$/);
		await shot("month");
		await page.mouse.move(0, 0);
	});
	await check("names are text", async () => {
		assert.ok((await names("model")).includes(know.hostile));
		assert.ok((await names("key")).includes(know.hostile));
		assert.ok((await page.locator("#guard-body .name").allInnerTexts()).includes(know.hostile));
		assert.ok((await page.locator("#health-table .name").allInnerTexts()).includes(know.hostile));
		assert.equal(await page.evaluate(() => document.querySelectorAll("img, body script").length), 1);
		assert.equal(await page.evaluate(() => window.harmed), undefined);
		await page.selectOption("#model", know.hostile);
		await until(hostile => document.querySelectorAll("#by-model tbody tr").length === 1 && document.querySelector("#by-model tbody .name").textContent === hostile, know.hostile);
		await page.locator("#clear").click();
		await untilTile("Requests", month);
	});
	await check("requests without a key", async () => {
		await page.selectOption("#key", {label: "(no key)"});
		await untilTile("Requests", Number(know.keyless).toLocaleString("en-US"));
		assert.deepEqual(await names("key"), ["(no key)"]);
		assert.equal(new URL(page.url()).hash, "#range=30d&no_key=true");
		await page.reload();
		await untilTile("Requests", Number(know.keyless).toLocaleString("en-US"));
		assert.equal(await page.locator("#key option:checked").innerText(), "(no key)");
		await page.locator("#by-key tbody button", {hasText: "(no key)"}).click();
		await untilTile("Requests", month);
	});
	await check("sorting and long tables", async () => {
		assert.equal(await page.locator("#by-model tbody tr").count(), 10);
		await page.locator("#groups .link", {hasText: /^Show all/}).first().click();
		const all = await page.locator("#by-model tbody tr").count();
		assert.ok(all > 10, all + " models");
		await page.locator("#by-model thead button", {hasText: "TTFT p95"}).click();
		assert.equal(await page.locator("#by-model th[aria-sort=descending]").innerText(), "TTFT p95");
		const column = await page.locator("#by-model tbody tr > :nth-child(11)").allInnerTexts();
		const ms = column.map(v => parseFloat(v) * (v.endsWith(" s") ? 1000 : 1));
		assert.deepEqual(ms, [...ms].sort((a, b) => b - a));
		await page.locator("#by-model thead button", {hasText: "Requests"}).click();
		await page.locator("#groups .link", {hasText: "Show fewer"}).click();
	});
	await check("guard", async () => {
		assert.equal(await page.locator("#guard").isVisible(), true);
		const rows = await page.locator("#guard-body tbody tr").allInnerTexts();
		assert.equal(rows.length, 2);
		assert.match(rows[0], /claude-sonnet-4-5\s+headroom=balanced\s+switched off\s+tried again at 2 Apr, 08:00\s+24\.1% dearer\s+41\.0%\s+83\.0% in control\s+1,502\s+31 in control/);
		assert.match(rows[1], /on\s+since 1 Apr, 07:00\s+18\.3% cheaper\s+too few to judge/);
	});
	await check("markup for screen readers", accessible);
	await check("contrast, light", contrast);
	await check("dark", async () => {
		await page.selectOption("#range", "24h");
		await untilTile("Requests", day);
		await page.getByRole("button", {name: "Dark theme"}).click();
		assert.equal(await background(), dark);
		await shot("dark");
	});
	await check("contrast, dark", contrast);
	await check("narrow", async () => {
		await page.getByRole("button", {name: "Light theme"}).click();
		for (const [range, requests] of [["1h", hour], ["24h", day], ["30d", month]]) {
			await page.selectOption("#range", range);
			await untilTile("Requests", requests);
			for (const width of [320, 390, 768, 1024]) await noOverflow(width);
		}
		await noOverflow(390);
		await shot("390");
	});
	await check("nothing on the console", async () => assert.deepEqual(wrong, []));
}

await {live: liveScenario, history: historyScenario}[scenario]();
await end();
