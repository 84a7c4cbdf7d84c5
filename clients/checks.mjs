// What the scenarios share: they run checks one after the other and print for
// each what the client saw, one JSON object a line.

// know is what the test tells: base URL, key, a command's output, ...
export const know = JSON.parse(process.argv[3]);

// run runs the checks of the scenario that was asked for. A check gets its
// name in a header, by which the test finds the requests it made.
export async function run(scenarios) {
  const checks = scenarios[process.argv[2]];
  for (const [name, check] of Object.entries(checks)) {
    let line;
    try {
      line = { name, saw: (await check({ "x-check": name })) ?? null };
    } catch (error) {
      line = { name, error: String(error?.stack ?? error) };
    }
    process.stdout.write(JSON.stringify(line) + "\n");
  }
}

// failure is what there is to see of the error that promise fails with.
export async function failure(promise, look) {
  let answer;
  try {
    answer = await promise;
  } catch (error) {
    return { class: error.constructor.name, ...look(error) };
  }
  throw new Error("no error: " + JSON.stringify(answer));
}

// soon makes sure that a refusal says when to come back, within the minute of
// the limit, and takes the exact second out.
export function soon({ retryAfter, ...saw }) {
  if (!(Number(retryAfter) >= 1 && Number(retryAfter) <= 60)) throw new Error("retry-after: " + retryAfter);
  return saw;
}
