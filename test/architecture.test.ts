/** The rules of the architecture, read from the code and from the live database. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Runtime } from '../src/app.ts';
import { parametersOf } from '../src/http/resolve.ts';
import { routes } from '../src/http/routes.ts';
import { testDatabase } from './support/database.ts';

const src = fileURLToPath(new URL('../src/', import.meta.url));
const files = readdirSync(src, { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts'))
  .sort();
const textOf = (file: string) => readFileSync(path.join(src, file), 'utf8');

/** The files of src/ that a file imports, as values or as types, at its head or when it runs. */
function importsOf(file: string): string[] {
  const form = /\b(?:import|export)\b[^'";]*?\bfrom\s*'([^']+)'|\bimport\s*\(?\s*'([^']+)'/g;
  const names = [...textOf(file).matchAll(form)].map(([, from, bare]) => from ?? bare!);
  return names.filter(name => name.startsWith('.')).map(name => path.join(path.dirname(file), name));
}

const layerOf = (file: string) => (file.includes('/') ? file.split('/')[0]! : file);

/** What a provider is, without any provider. */
const providerInterface = ['providers/provider.ts', 'providers/sending.ts'];

/** Layer to the layers, or single files, that it may import besides itself. */
const mayImport: Record<string, string[] | 'anything'> = {
  'main.ts': ['run.ts', 'libraries.ts'],
  'libraries.ts': [],
  'run.ts': 'anything',
  'app.ts': 'anything',
  'serve.ts': 'anything',
  'config.ts': ['core', 'lib'],
  'version.ts': [],
  http: ['services', 'core', 'lib', 'version.ts'],
  cli: ['services', 'core', 'lib', 'config.ts', 'version.ts'],
  engine: ['services', 'db', 'core', 'lib', 'providers', 'libraries.ts'],
  services: ['db', 'core', 'lib', ...providerInterface],
  db: ['core', 'lib'],
  embedded: ['core', 'lib'],
  providers: ['core', 'lib'],
  core: [],
  lib: [],
};

const instead: Record<string, string> = {
  db: 'ask a function of services/ for it, or add one there',
  'config.ts': 'let app.ts read the setting and pass the value on',
  'app.ts': 'take what you need as a parameter: app.ts does the wiring and imports you',
  'main.ts': 'take what you need as a parameter: nothing imports main.ts',
  'run.ts': 'take what you need as a parameter: only main.ts imports run.ts',
  http: 'move what both need down into services/ or core/',
  cli: 'move what both need down into services/ or core/',
  engine: 'move what both need down into services/ or core/',
  services: 'move the rule into core/, or let the caller pass in what is needed',
  providers: 'use the interface in providers/provider.ts; app.ts puts the providers into Deps',
  lib: 'pass in what is needed: core/ and lib/ stand alone',
  core: 'pass in what is needed: lib/ knows nothing of the domain',
};

describe('who imports whom', () => {
  test('every layer of src/ has its rule', () => {
    expect([...new Set(files.map(layerOf))].filter(layer => !(layer in mayImport))).toEqual([]);
  });

  test('every import that is written down is found', () => {
    const missing = files.flatMap(file => importsOf(file).filter(name => !existsSync(path.join(src, name))));
    expect(missing.filter(name => !name.startsWith('..'))).toEqual([]);
    expect(files.flatMap(importsOf).length).toBeGreaterThan(200);
  });

  test.each(files)('%s keeps to its rule', file => {
    const layer = layerOf(file);
    const allowed = mayImport[layer] ?? [];
    if (allowed === 'anything') return;
    const broken = importsOf(file)
      .filter(name => layerOf(name) !== layer && !allowed.includes(layerOf(name)) && !allowed.includes(name))
      .map(
        name => `${file} imports ${name}, which ${layer} may not: ${instead[layerOf(name)] ?? 'pass it in instead'}`,
      );
    expect(broken).toEqual([]);
  });

  test('no file imports itself by a detour, not even for a type', () => {
    const circles = new Set<string>();
    const done = new Set<string>();
    const visit = (file: string, trail: string[]) => {
      const at = trail.indexOf(file);
      if (at >= 0) {
        const circle = trail.slice(at);
        const first = circle.indexOf([...circle].sort()[0]!);
        circles.add([...circle.slice(first), ...circle.slice(0, first)].join(' → '));
      }
      if (done.has(file) || at >= 0) return;
      for (const name of importsOf(file)) visit(name, [...trail, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    const advice = 'move what both need, often a type, into a file of its own that imports neither';
    expect([...circles].map(circle => `${circle} → …: ${advice}`)).toEqual([]);
  });

  test('only db/ and embedded/ speak SQL: pg and kysely are imported elsewhere for their types at most', () => {
    const speakers = files.filter(
      file =>
        !['db', 'embedded'].includes(layerOf(file)) &&
        /^import (?!type\b)[^;]*from '(pg|kysely)(\/[^']*)?';/m.test(textOf(file)),
    );
    expect(speakers.map(file => `${file}: move the statement into a function of db/`)).toEqual([]);
  });

  test('core does no input or output and reads no clock', () => {
    const pure = /^node:(crypto|zlib|util|buffer)$/;
    const outside = files
      .filter(file => layerOf(file) === 'core')
      .flatMap(file => {
        const modules = [...textOf(file).matchAll(/from '(node:[^']+)'/g)].map(([, name]) => name!);
        const clock = /\bDate\.now\(\)|\bnew Date\(\)|\bperformance\.now\(/.test(textOf(file)) ? ['the clock'] : [];
        return [...modules.filter(name => !pure.test(name)), ...clock].map(
          name => `${file}: take ${name} from the caller`,
        );
      });
    expect(outside).toEqual([]);
  });
});

describe('the table of routes', () => {
  test('has every endpoint of http/, under the name that it is exported by', async () => {
    const listed = new Set(routes.map(route => route.id));
    const wrong: string[] = [];
    for (const file of files.filter(name => layerOf(name) === 'http' && name !== 'http/routes.ts')) {
      if (!/\b(plain|list|history|ordered)\(/.test(textOf(file))) continue;
      const exported = (await import(path.join(src, file))) as Record<string, unknown>;
      for (const [name, value] of Object.entries(exported).filter(([, one]) => isEndpoint(one))) {
        const { id } = value as { id: string };
        if (id !== name) wrong.push(`${file}: ${name} has the id ${id}: export an endpoint under its id`);
        if (!listed.has(id)) wrong.push(`${file}: ${id} is in no line of http/routes.ts: add one, with its permission`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('is the only place that adds routes of the API', () => {
    const paths = files.filter(
      file => layerOf(file) === 'http' && file !== 'http/routes.ts' && /['"`]\/api\/[^'"`]*:\w+/.test(textOf(file)),
    );
    expect(paths.map(file => `${file} writes a path of the API: put the route into http/routes.ts`)).toEqual([]);
  });

  test('says of each endpoint only parameters that its path has', () => {
    const wrong = routes.flatMap(({ id, path: at, params }) =>
      params.filter(name => !parametersOf(at).includes(name)).map(name => `${id} needs :${name}, which ${at} lacks`),
    );
    expect(wrong).toEqual([]);
  });

  function isEndpoint(value: unknown): boolean {
    return typeof value === 'object' && value !== null && 'params' in value && 'summary' in value;
  }
});

describe('the documents', () => {
  test.each(['CONTRIBUTING.md', 'docs/architecture.md'])('%s names files that there are', name => {
    const root = path.join(src, '..');
    const text = readFileSync(path.join(root, name), 'utf8');
    const named = [...text.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.tsx?|[\w-]+\/)`/g)].map(([, file]) => file!);
    const missing = named.filter(file => ![root, src].some(folder => existsSync(path.join(folder, file))));
    expect(missing.map(file => `${file}: name the file that took its place`)).toEqual([]);
    expect(named.length).toBeGreaterThan(10);
  });
});

describe('what a layer adds', () => {
  test('a service does more than re-export a query', () => {
    const evading = files
      .filter(file => layerOf(file) === 'services')
      .flatMap(file => {
        const passed = [...textOf(file).matchAll(/^export (?!type\b)(\*|\{[^}]*\}) from '\.\.\/db\/[^']+';/gm)]
          .map(([, names]) => names!)
          .filter(
            names =>
              names === '*' ||
              names
                .replace(/[{}]/g, '')
                .split(',')
                .some(name => name.trim() && !/^\s*type /.test(name)),
          );
        const aliases = [...textOf(file).matchAll(/^export const \w+ = [a-z]\w*(?:\.\w+)?;/gm)].map(([text]) => text);
        return [...passed, ...aliases].map(
          name =>
            `${file} re-exports ${name.replaceAll(/\s+/g, ' ')}: write a function of the use case that takes Deps`,
        );
      });
    expect(evading).toEqual([]);
  });

  test('http hands no database around: its handlers call services with Deps', () => {
    const handing = files.filter(
      file =>
        layerOf(file) === 'http' &&
        /\bdeps\.(db|pool)\b|\{[^}]*\b(db|pool)\b[^}]*\}: (Pick<)?Deps\b/.test(textOf(file)),
    );
    expect(handing.map(file => `${file}: let the service take deps, and the database from them`)).toEqual([]);
  });
});

/** Everything that is no tenant's: connections, migrations, partitions. */
const infrastructure = /^db\/(pool|migrate|listen|page|types|partitions)\.ts$/;

/** These cross tenants, and each has its reason. */
const acrossTenants: Record<string, string> = {
  addSuppressedAcrossTenants: 'one statement counts a batch of anybody’s deliveries',
  addMissingVariablesAcrossTenants: 'one statement notes what anybody’s messages lacked',
  claimDeliveriesAcrossTenants: 'workers serve everybody, by turns',
  claimExpandingAcrossTenants: 'workers serve everybody, by turns',
  expandAcceptedAcrossTenants: 'workers serve everybody, by turns',
  findDueAcrossTenants: 'where anybody has work waiting',
  findRecipientsByNameAcrossTenants: 'whom a batch of anybody’s occurrences names',
  claimTheseAcrossTenants: 'a worker fetches back what it put aside for limits of anybody’s channels',
  countPromotionalEventsAcrossTenants: 'the public address is the whole installation’s',
  deleteOldStatisticsAcrossTenants: 'maintenance',
  deleteOldThrottleUsesAcrossTenants: 'maintenance',
  findThrottleUsesAcrossTenants: 'the same statement form as for a batch of anybody’s',
  lockThrottleUsesAcrossTenants: 'one statement counts a batch of anybody’s deliveries',
  storeThrottleUsesAcrossTenants: 'one statement counts a batch of anybody’s deliveries',
  findOccurrencesAcrossTenants: 'what a claimed batch of deliveries belongs to',
  findOrganizationsAcrossTenants: 'a declarative file may hold several organizations',
  findRecipientsAcrossTenants: 'whom a claimed batch of deliveries goes to',
  listClaimedAcrossTenants: 'what one worker claimed, whoever it belongs to',
  listDeadWorkersAcrossTenants: 'workers are no tenant’s',
  listLiveWorkersAcrossTenants: 'workers are no tenant’s',
  noteRoundAcrossTenants: 'workers are no tenant’s',
  deleteOldRoundsAcrossTenants: 'workers are no tenant’s',
  countDueAcrossTenants: 'the backlog of the whole installation',
  listOverdueAcrossTenants: 'workers serve everybody; one row of each organization is read',
  listRetentionsAcrossTenants: 'maintenance: what each organization keeps',
  listSealedChannelsAcrossTenants: 'the key that encrypts is the whole installation’s',
  listShorterRetentionsAcrossTenants: 'maintenance: which organizations keep less',
  listUnsummedAcrossTenants: 'maintenance: whose days are to be summed',
  lockConfigurationAcrossTenants: 'the organization may not exist yet',
  releasePausedAcrossTenants: 'maintenance',
  releaseOccurrencesAcrossTenants: 'what a dead worker held, whoever it belongs to',
  settleDeliveriesAcrossTenants: 'one statement settles a batch of anybody’s deliveries',
  settleUnknownAcrossTenants: 'what a dead worker was sending, whoever it belongs to',
  storePageAcrossTenants: 'the page of a claimed occurrence, whoever it belongs to',
  storeInboxMessagesAcrossTenants: 'one statement stores a batch of anybody’s messages',
  findKeyAcrossTenants: 'a key is presented before anyone knows whose it is',
  touchKeysAcrossTenants: 'one statement notes the use of all keys',
  findPlaceAcrossTenants: 'a path names its organization by slug; admission compares it with the key',
  inheritAcrossTenants: 'a worker takes over what it held under an earlier identity',
  storeOccurrencesAcrossTenants: 'one statement stores a batch of anybody’s triggers',
  deleteOldAuditAcrossTenants: 'maintenance',
  deleteOldIdempotencyKeysAcrossTenants: 'maintenance',
  listOrganizationsAcrossTenants: 'the command line exports all of them',
  createOrganizationAcrossTenants: 'there is no organization yet',
  createAccountAcrossTenants: 'a person may be a member of several organizations',
  createSessionAcrossTenants: 'a person signs in, whichever organizations they are a member of',
  deleteAccountAcrossTenants: 'a person may be a member of several organizations',
  deleteOldAttemptsAcrossTenants: 'maintenance',
  deleteOldInvitesAcrossTenants: 'maintenance',
  deleteOldSessionsAcrossTenants: 'maintenance',
  deleteSessionAcrossTenants: 'a person signs out',
  deleteSessionsAcrossTenants: 'a person signs out everywhere',
  findAccountAcrossTenants: 'an email is given before anyone knows whose it is',
  findAccountBySubjectAcrossTenants: 'an identity provider knows nothing of organizations',
  findInviteAcrossTenants: 'the link of an invite names no organization',
  findSessionAcrossTenants: 'a cookie is presented before anyone knows whose it is',
  forgetAttemptsAcrossTenants: 'about an email, whoever it belongs to',
  findAccountByIdAcrossTenants: 'a person may be a member of several organizations',
  listAccountsAcrossTenants: 'for the operator, at the command line',
  listInvitesForAcrossTenants: 'whoever invited the owner of an email',
  listReachedAcrossTenants: 'the organizations of one person',
  takeAttemptAcrossTenants: 'about an email, whoever it belongs to',
  clearTotpAcrossTenants: 'of a person, whichever organizations they are a member of',
  confirmSessionAcrossTenants: 'a person proves who they are',
  createPasskeyAcrossTenants: 'of a person, whichever organizations they are a member of',
  createResetAcrossTenants: 'a person may be a member of several organizations',
  deleteOldChallengesAcrossTenants: 'maintenance',
  deleteOldResetsAcrossTenants: 'maintenance',
  deletePasskeyAcrossTenants: 'of a person, whichever organizations they are a member of',
  endSessionAcrossTenants: 'a person ends one of their own sessions',
  findPasskeyAcrossTenants: 'a passkey is presented before anyone knows whose it is',
  findResetAcrossTenants: 'the link of a password reset names nobody',
  getConfirmationAcrossTenants: 'a person proves who they are',
  getTwoFactorAcrossTenants: 'of a person, whichever organizations they are a member of',
  listPasskeysAcrossTenants: 'of a person, whichever organizations they are a member of',
  listSessionsAcrossTenants: 'of a person, whichever organizations they are a member of',
  lockAccountAcrossTenants: 'a person may be a member of several organizations',
  renamePasskeyAcrossTenants: 'of a person, whichever organizations they are a member of',
  replaceRecoveryCodesAcrossTenants: 'of a person, whichever organizations they are a member of',
  listSealedTotpAcrossTenants: 'whoever has an authenticator app, for a new secret key',
  replaceTotpAcrossTenants: 'a person may be a member of several organizations',
  setTotpAcrossTenants: 'of a person, whichever organizations they are a member of',
  takeChallengeAcrossTenants: 'about a challenge, whoever answered it',
  takeRecoveryCodeAcrossTenants: 'of a person, whichever organizations they are a member of',
  takeResetAcrossTenants: 'a person may be a member of several organizations',
  takeTotpStepAcrossTenants: 'of a person, whichever organizations they are a member of',
  touchPasskeyAcrossTenants: 'of a person, whichever organizations they are a member of',
  touchSessionsAcrossTenants: 'one statement notes the use of all sessions',
  updateAccountAcrossTenants: 'a person may be a member of several organizations',
  describeServerAcrossTenants: 'about the database itself',
};

describe('tenancy', () => {
  const exported = files
    .filter(file => layerOf(file) === 'db' && !infrastructure.test(file))
    .flatMap(file =>
      [
        ...textOf(file).matchAll(
          /^export (?:async )?(?:function|const) (\w+)(?:<[^(]*>)?(?: = (?:async )?)?\(([^)]*)/gm,
        ),
      ].map(([, name, parameters]) => ({ file, name: name!, parameters: parameters!.replaceAll(/\s+/g, ' ').trim() })),
    );

  test('whatever asks the database takes the organization next to it, or says that it crosses tenants', () => {
    const asking = exported.filter(({ parameters }) =>
      /\b(Db|Pool|PoolClient|Client|Kysely|Transaction)\b/.test(parameters),
    );
    const wrong = asking
      .filter(({ name }) => !name.endsWith('AcrossTenants'))
      .filter(({ parameters }) => !/^(db: Db|pool: pg\.Pool), organizationId: number\b/.test(parameters))
      .map(({ file, name }) => `${file}: ${name} must begin with (db: Db, organizationId: number`);
    expect(wrong).toEqual([]);
    expect(asking.length).toBeGreaterThan(25);
  });

  test('what crosses tenants stands on the list, with a reason', () => {
    const crossing = exported.map(({ name }) => name).filter(name => name.endsWith('AcrossTenants'));
    expect(crossing.sort()).toEqual(Object.keys(acrossTenants).sort());
  });
});

describe('the schema', () => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await testDatabase();
  });
  afterAll(() => runtime.close());

  interface Constraint {
    table: string;
    name: string;
    kind: 'p' | 'u' | 'f';
    columns: string[];
    target: string | null;
    target_columns: string[] | null;
  }

  async function constraints(): Promise<Constraint[]> {
    const { rows } = await sql<Constraint>`
      select c.conrelid::regclass::text as table, c.conname as name, c.contype as kind,
        (select array_agg(a.attname::text order by k.at) from unnest(c.conkey) with ordinality as k (number, at)
          join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.number) as columns,
        nullif(c.confrelid, 0)::regclass::text as target,
        (select array_agg(a.attname::text order by k.at) from unnest(c.confkey) with ordinality as k (number, at)
          join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.number) as target_columns
      from pg_constraint c join pg_class t on t.oid = c.conrelid
      where t.relnamespace = 'public'::regnamespace and c.contype in ('p', 'u', 'f') and not t.relispartition
        and t.relname not like 'belfry\_migrations%'`.execute(runtime.deps.db);
    return rows;
  }

  /**
   * What belongs to no tenant: the tenants themselves, the processes that serve them, and the people who work with one
   * or several of them, with their sessions, their ways to sign in and their failures to do so.
   */
  const withoutTenant = [
    'organizations',
    'worker_rounds',
    'accounts',
    'sessions',
    'sign_in_attempts',
    'sign_in_limits',
    'passkeys',
    'recovery_codes',
    'password_resets',
    'used_challenges',
  ];

  test('every table is a tenant’s, or one of a few that are nobody’s', async () => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class t
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
        and relname not like 'belfry\_migrations%'
        and not exists (select from pg_attribute a
          where a.attrelid = t.oid and a.attname = 'organization_id' and a.attnotnull)`.execute(runtime.deps.db);
    expect(rows.map(row => row.name).filter(name => !withoutTenant.includes(name))).toEqual([]);
  });

  test('primary keys and unique constraints of tenant tables begin with the organization', async () => {
    const wrong = (await constraints())
      .filter(({ kind, table }) => kind !== 'f' && !withoutTenant.includes(table))
      .filter(({ columns }) => columns[0] !== 'organization_id');
    expect(wrong.map(({ table, name, columns }) => `${table}.${name} (${columns})`)).toEqual([]);
  });

  test('unique indexes of tenant tables begin with the organization', async () => {
    const { rows } = await sql<{ name: string }>`
      select i.indexrelid::regclass::text as name from pg_index i join pg_class t on t.oid = i.indrelid
      where t.relnamespace = 'public'::regnamespace and i.indisunique and not t.relispartition
        and t.relname not like 'belfry\_migrations%' and t.relname <> all(${withoutTenant}::text[])
        and (select attname from pg_attribute a where a.attrelid = t.oid and a.attnum = i.indkey[0])
          is distinct from 'organization_id'`.execute(runtime.deps.db);
    expect(rows.map(row => row.name)).toEqual([]);
  });

  test('foreign keys between tenant tables include the organization on both sides', async () => {
    const foreign = (await constraints()).filter(({ kind }) => kind === 'f');
    const wrong = foreign.filter(({ target, columns, target_columns: at }) =>
      target === 'accounts' || target === 'organizations'
        ? target === 'organizations' && columns[0] !== 'organization_id'
        : !at?.some((column, i) => column === 'organization_id' && columns[i] === 'organization_id'),
    );
    expect(wrong.map(({ table, name }) => `${table}.${name}`)).toEqual([]);
    expect(foreign.length).toBeGreaterThan(10);
  });
});
