// Copies users, addresses, distribution lists and members from one service of this API to another:
//   SOURCE_URL=… SOURCE_KEY=… TARGET_URL=… TARGET_KEY=… node copy-people.mjs ORGANIZATION
// Can be run again: what is there already stays. Needs Node.js 20.

const [organization] = process.argv.slice(2);
const { SOURCE_URL, SOURCE_KEY, TARGET_URL, TARGET_KEY } = process.env;
const missing = Object.entries({ SOURCE_URL, SOURCE_KEY, TARGET_URL, TARGET_KEY, ORGANIZATION: organization });
for (const [name, value] of missing) {
  if (value) continue;
  console.error(`${name} is missing`);
  process.exit(2);
}

/** Answers with the body; throws on what is not in `allowed`. */
async function ask(base, key, method, path, body, allowed = []) {
  const response = await fetch(`${base.replace(/\/+$/, '')}/api/o/${organization}/${path}`, {
    method,
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const answer = await response.json().catch(() => undefined);
  if (response.ok || allowed.includes(answer?.code)) return answer;
  throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
}
const read = path => ask(SOURCE_URL, SOURCE_KEY, 'GET', path);
const readTarget = path => ask(TARGET_URL, TARGET_KEY, 'GET', path);
const write = (path, body, allowed) => ask(TARGET_URL, TARGET_KEY, 'POST', path, body, allowed);

let users = 0;
for (const { email, username, first_name, last_name, locked } of await read('u/')) {
  await write('u/', { email, first_name, last_name }, ['user.exists']);
  const own = `u/${encodeURIComponent(email.toLowerCase())}/`;
  if (locked) await ask(TARGET_URL, TARGET_KEY, 'PATCH', own, { locked });
  for (const { name, value } of await read(`u/${encodeURIComponent(username)}/address/`)) {
    await write(`${own}address/`, { name, value });
  }
  users++;
}
console.log(`${users} users`);

for (const { slug } of await read('p/')) {
  for (const { name, id } of await read(`p/${slug}/d/`)) {
    const known = (await readTarget(`p/${slug}/d/`)).find(list => list.name.toLowerCase() === name.toLowerCase());
    const list = known ?? (await write(`p/${slug}/d/`, { name }));
    const members = (await read(`p/${slug}/d/${id}/m/`)).filter(({ address }) => address.includes('@'));
    const emails = [...new Set(members.map(({ address }) => address))];
    for (let from = 0; from < emails.length; from += 10_000) {
      await write(`p/${slug}/d/${list.id}/add/`, emails.slice(from, from + 10_000));
    }
    console.log(`${slug}: ${name}, ${emails.length} members`);
  }
}
