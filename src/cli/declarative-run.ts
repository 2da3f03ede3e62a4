/** What `apply` and `plan` share: both read files, compare, and tell. */
import { parseArgs } from 'node:util';
import { AppError, type FieldErrors } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import { applyConfiguration, type Change, planConfiguration } from '../services/declarative.ts';
import { type Terminal, wrongUsage } from './command.ts';
import { mistakesIn, readFiles } from './declarative-file.ts';
import { describeChanges } from './declarative-text.ts';
import { type Remote, remoteOf } from './remote.ts';

const work = { apply: applyConfiguration, plan: planConfiguration } as const;
type Verb = keyof typeof work;

export async function runOnFiles(verb: Verb, args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals: names } = parseArgs({
    args,
    options: { prune: { type: 'boolean' }, json: { type: 'boolean' } },
    allowPositionals: true,
  });
  if (names.length === 0)
    throw wrongUsage(`name at least one file, or - for standard input: see \`belfry help ${verb}\``);
  if (names.filter(name => name === '-').length > 1) throw wrongUsage('standard input (-) can be read only once');
  const prune = values.prune === true;
  const files = await readFiles(names, terminal.env);
  const remote = remoteOf(terminal.config);
  try {
    const changes = remote
      ? await runRemotely(remote, verb, files.document.organizations, prune)
      : await terminal.withDeps(deps => work[verb](deps, files.document, { prune }), { mayCreate: verb === 'apply' });
    const { json } = values;
    const text = describeChanges(changes, { done: verb === 'apply', coloured: terminal.interactive });
    terminal.print(json ? JSON.stringify({ changes }, null, 2) : text);
    return 0;
  } catch (error) {
    if (!(error instanceof AppError) || !error.details.fields) throw error;
    const lines = files.describe(error.details.fields);
    throw lines.length > 0 ? mistakesIn(lines) : error;
  }
}

/** A server applies one organization at a time; all of them are planned first, so that a mistake stops all of them. */
async function runRemotely(remote: Remote, verb: Verb, organizations: unknown[], prune: boolean): Promise<Change[]> {
  refuseTwins(organizations);
  const ask = (path: string) => async (organization: unknown, i: number) => {
    const slug = isObject(organization) ? String(organization.slug) : '';
    try {
      const address = `/api/o/${encodeURIComponent(slug)}/configuration/${path}/`;
      return (await remote.request<{ changes: Change[] }>('POST', address, { organization, prune })).changes;
    } catch (error) {
      throw error instanceof AppError ? numbered(error, i) : error;
    }
  };
  const inTurn = async (path: string) => {
    const changes: Change[] = [];
    for (const [i, organization] of organizations.entries()) {
      for (const change of await ask(path)(organization, i)) changes.push(change);
    }
    return changes;
  };
  if (verb === 'plan' || organizations.length > 1) {
    const planned = await inTurn('plan');
    if (verb === 'plan') return planned;
  }
  return inTurn('apply');
}

/** Two requests cannot see that they are about the same organization. */
function refuseTwins(organizations: unknown[]): void {
  const errors: FieldErrors = {};
  const slugs = organizations.map(organization => (isObject(organization) ? organization.slug : undefined));
  for (const [i, slug] of slugs.entries()) {
    if (typeof slug !== 'string' || slug === '') errors[`organizations/${i}/slug`] = ['is required, as text'];
    else if (slugs.indexOf(slug) < i) {
      const first = `organizations/${slugs.indexOf(slug)}`;
      errors[`organizations/${i}/slug`] = [`${JSON.stringify(slug)} stands here twice, first as ${first}`];
    }
  }
  if (Object.keys(errors).length > 0) throw new AppError('file.invalid', 'the file has mistakes', { fields: errors });
}

/** The server names fields as organization/…: which one it was is known only here. */
function numbered(error: AppError, index: number): AppError {
  const { fields } = error.details;
  if (!fields) return error;
  const renamed = Object.entries(fields).map(([field, messages]): [string, string[]] => [
    field.replace(/^(organization|body)(?=\/|$)/, `organizations/${index}`),
    messages,
  ]);
  return new AppError(error.code, error.message, { ...error.details, fields: Object.fromEntries(renamed) });
}
