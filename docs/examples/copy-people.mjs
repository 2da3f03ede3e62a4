// Copies users, addresses, distribution lists and members from one service with this API to another:
//   SOURCE_URL=… SOURCE_KEY=… TARGET_URL=… TARGET_KEY=… node copy-people.mjs ORGANIZATION
// It can be run again: existing data stays. Needs Node.js 20.

const [organization] = process.argv.slice(2);
const { SOURCE_URL, SOURCE_KEY, TARGET_URL, TARGET_KEY } = process.env;
const required = Object.entries({ SOURCE_URL, SOURCE_KEY, TARGET_URL, TARGET_KEY, ORGANIZATION: organization });
for (const [name, value] of required) {
  if (value) continue;
  console.error(`${name} is missing`);
  process.exit(2);
}

/** Returns the response body. Throws on errors whose code is not in `allowed`. */
async function call(base, key, method, path, body, allowed = []) {
  const response = await fetch(`${base.replace(/\/+$/, '')}/api/o/${organization}/${path}`, {
    method,
    headers: { authorization: `Key ${key}`, 'content-type': 'application/json' },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const result = await response.json().catch(() => undefined);
  if (response.ok || allowed.includes(result?.code)) return result;
  throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(result)}`);
}
const read = path => call(SOURCE_URL, SOURCE_KEY, 'GET', path);
const readTarget = path => call(TARGET_URL, TARGET_KEY, 'GET', path);
const write = (path, body, allowed) => call(TARGET_URL, TARGET_KEY, 'POST', path, body, allowed);

let users = 0;
for (const { email, username, first_name, last_name, locked } of await read('u/')) {
  await write('u/', { email, first_name, last_name }, ['user.exists']);
  const userPath = `u/${encodeURIComponent(email.toLowerCase())}/`;
  if (locked) await call(TARGET_URL, TARGET_KEY, 'PATCH', userPath, { locked });
  for (const { name, value } of await read(`u/${encodeURIComponent(username)}/address/`)) {
    await write(`${userPath}address/`, { name, value });
  }
  users++;
}
console.log(`${users} users`);

for (const { slug } of await read('p/')) {
  for (const { name, id } of await read(`p/${slug}/d/`)) {
    const existing = (await readTarget(`p/${slug}/d/`)).find(list => list.name.toLowerCase() === name.toLowerCase());
    const list = existing ?? (await write(`p/${slug}/d/`, { name }));
    const members = (await read(`p/${slug}/d/${id}/m/`)).filter(({ address }) => address.includes('@'));
    const emails = [...new Set(members.map(({ address }) => address))];
    for (let start = 0; start < emails.length; start += 10_000) {
      await write(`p/${slug}/d/${list.id}/add/`, emails.slice(start, start + 10_000));
    }
    console.log(`${slug}: ${name}, ${emails.length} members`);
  }
}
