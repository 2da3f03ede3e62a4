/** Shared by `apply` and `plan`: reads the files, compares them with the database, and prints the changes. */
import { AppError, type FieldErrors } from '../core/errors.ts';
import { isObject } from '../core/json.ts';
import {
  applyConfiguration,
  type Change,
  planConfiguration,
} from '../services/configuration/declarative/declarative.ts';
import { listPlannedGaps, type PlannedGaps } from '../services/configuration/declarative/planned-gaps.ts';
import { flag, readArguments } from './arguments.ts';
import { type Terminal, usageError } from './command.ts';
import { invalidFiles, readFiles } from './declarative-file.ts';
import { describeChanges } from './declarative-text.ts';
import { formatTime, printable } from './format.ts';
import { type Remote, remoteOf } from './remote.ts';
import { asSent, type Sent } from './rows.ts';

const work = { apply: applyConfiguration, plan: planConfiguration } as const;
type Verb = keyof typeof work;

export async function runOnFiles(verb: Verb, args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals: names } = readArguments(args, { prune: flag, 'no-gaps': flag, json: flag });
  if (verb === 'apply' && values['no-gaps']) throw usageError('--no-gaps is for `belfry plan`');
  if (names.length === 0)
    throw usageError(`name at least one file, or - for standard input: see \`belfry help ${verb}\``);
  if (names.filter(name => name === '-').length > 1) throw usageError('standard input (-) can be read only once');
  const prune = values.prune === true;
  const files = await readFiles(names, terminal.env);
  const remote = remoteOf(terminal);
  try {
    const changes = remote
      ? await runRemotely(remote, verb, files.document.organizations, prune)
      : await terminal.withDeps(deps => work[verb](deps, files.document, { prune }), { mayCreate: verb === 'apply' });
    const gaps = values['no-gaps'] ? await findGaps(terminal, files.document, prune) : undefined;
    const { json } = values;
    const text = describeChanges(changes, { isApplied: verb === 'apply', isColored: terminal.interactive });
    terminal.print(json ? JSON.stringify({ changes, ...(gaps && { gaps }) }, null, 2) : text);
    if (gaps && !json) terminal.print(`\n${describeGaps(gaps)}`);
    return gaps && (gaps.gaps.length > 0 || !gaps.complete) ? 1 : 0;
  } catch (error) {
    if (!(error instanceof AppError) || !error.details.fields) throw error;
    const lines = files.describe(error.details.fields);
    throw lines.length > 0 ? invalidFiles(lines) : error;
  }
}

/** A server applies one organization at a time. All are planned first, so that an error in one prevents any change. */
async function runRemotely(remote: Remote, verb: Verb, organizations: unknown[], prune: boolean): Promise<Change[]> {
  rejectDuplicates(organizations);
  const inTurn = async (path: string) => {
    const changes: Change[] = [];
    for (const answer of await askInTurn<{ changes: Change[] }>(remote, path, organizations, prune)) {
      for (const change of answer.changes) changes.push(change);
    }
    return changes;
  };
  if (verb === 'plan' || organizations.length > 1) {
    const planned = await inTurn('plan');
    if (verb === 'plan') return planned;
  }
  return inTurn('apply');
}

/** Asks for each organization. */
async function askInTurn<Result>(
  remote: Remote,
  path: string,
  organizations: unknown[],
  prune: boolean,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [i, organization] of organizations.entries()) {
    const slug = isObject(organization) ? String(organization.slug) : '';
    try {
      const address = `/api/o/${encodeURIComponent(slug)}/configuration/${path}/`;
      results.push(await remote.request<Result>('POST', address, { organization, prune }));
    } catch (error) {
      throw error instanceof AppError ? withNumber(error, i) : error;
    }
  }
  return results;
}

/** Looks for times at which no one would be on call. The files have been planned already. */
async function findGaps(terminal: Terminal, document: { organizations: unknown[] }, prune: boolean) {
  const remote = remoteOf(terminal);
  if (!remote) return terminal.withDeps(async deps => asSent([await listPlannedGaps(deps, document, { prune })])[0]!);
  const answers = await askInTurn<Sent<PlannedGaps>>(remote, 'gaps', document.organizations, prune);
  return {
    ...answers[0]!,
    complete: answers.every(({ complete }) => complete),
    gaps: answers.flatMap(({ gaps }) => gaps),
  };
}

/** More lines would bury the changes. */
const maxShownGaps = 20;

function describeGaps({ gaps, complete, until }: Sent<PlannedGaps>): string {
  const end = formatTime(until);
  if (gaps.length === 0 && complete) return `Someone is on call at all times until ${end}.`;
  const lines = gaps.slice(0, maxShownGaps).map(one => {
    const [from, until] = [formatTime(String(one.from)), formatTime(String(one.until))];
    return printable(`${one.schedule}: ${one.message}: ${from} to ${until}; ${one.advice}`);
  });
  const others = gaps.length - lines.length;
  return [
    ...lines,
    ...(others > 0 ? [`… and ${others} more until ${end}`] : []),
    ...(complete ? [] : ['The schedules change too often to examine all of the time.']),
  ].join('\n');
}

/** Rejects duplicate organizations here, because the server receives each in a separate request. */
function rejectDuplicates(organizations: unknown[]): void {
  const errors: FieldErrors = {};
  const slugs = organizations.map(organization => (isObject(organization) ? organization.slug : undefined));
  for (const [i, slug] of slugs.entries()) {
    if (typeof slug !== 'string' || slug === '') errors[`organizations/${i}/slug`] = ['is required and must be text'];
    else if (slugs.indexOf(slug) < i) {
      const first = `organizations/${slugs.indexOf(slug)}`;
      errors[`organizations/${i}/slug`] = [`${JSON.stringify(slug)} is duplicated, first used at ${first}`];
    }
  }
  if (Object.keys(errors).length > 0) throw new AppError('file.invalid', 'the file has errors', { fields: errors });
}

/** Replaces `organization/…` in the server's field paths by the number of the organization in the files. */
function withNumber(error: AppError, index: number): AppError {
  const { fields } = error.details;
  if (!fields) return error;
  const renamed = Object.entries(fields).map(([field, messages]): [string, string[]] => [
    field.replace(/^(organization|body)(?=\/|$)/, `organizations/${index}`),
    messages,
  ]);
  return new AppError(error.code, error.message, { ...error.details, fields: Object.fromEntries(renamed) });
}
