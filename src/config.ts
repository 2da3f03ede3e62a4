/**
 * Environment → frozen Config. Every variable may be given as NAME_FILE, a file that holds the value.
 * All problems are collected and told at once, so that nobody mends them one restart at a time.
 */
import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { AppError, type FieldErrors } from './core/errors.ts';
import { type MailSettings, readMailUrl } from './core/mail-url.ts';
import { type OutboxSource, readOutboxSources } from './core/outbox.ts';
import { isNetwork } from './lib/networks.ts';
import { readTraceSettings, type TraceSettings, type TraceVariables } from './lib/trace-settings.ts';

export const roles = ['all', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string | undefined;
  /** Undefined: the embedded PostgreSQL of the data folder. */
  readonly databaseUrl: string | undefined;
  /** The same database without the pooler that `databaseUrl` leads to; undefined: there is no pooler. */
  readonly directDatabaseUrl: string | undefined;
  readonly dataDir: string;
  /** What the operator calls this installation; its database must not be taken for another's. */
  readonly instance: string | undefined;
  /** Undefined: generated once and kept in the data folder. */
  readonly secretKey: string | undefined;
  /** Keys of before, which are still read and believed but no longer used. */
  readonly previousSecretKeys: readonly string[];
  readonly role: Role;
  /** An identity provider that people may sign in by. */
  readonly oidc: { issuer: string; clientId: string; clientSecret: string; name: string } | undefined;
  /** The mail server for invites and password resets. */
  readonly mail: MailSettings | undefined;
  /** Private networks that channels may reach; empty: none, loopback included. */
  readonly outboundAllow: readonly string[];
  /** Applications' own databases whose outboxes are drained. */
  readonly outboxes: readonly OutboxSource[];
  readonly trustProxy: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly logLevel: (typeof logLevels)[number];
  /** Without a port of their own, metrics are at `/metrics` beside the API; without a token, whoever gets there reads them. */
  readonly metrics: { host: string; port: number | undefined; token: string | undefined };
  /** Where spans are exported to. Undefined: there are no traces. */
  readonly traces: TraceSettings | undefined;
  /** A server and key for the command line to speak to, instead of a database. */
  readonly url: string | undefined;
  readonly key: string | undefined;
}

/** Every setting with its default, in the order of `.env.example`. */
export const settings = {
  HOST: '127.0.0.1',
  PORT: '8000',
  BASE_URL: '',
  TRUST_PROXY: '',
  CORS_ORIGINS: '',
  DATABASE_URL: '',
  BELFRY_DIRECT_DATABASE_URL: '',
  BELFRY_DATA_DIR: './data',
  BELFRY_INSTANCE: '',
  BELFRY_SECRET_KEY: '',
  BELFRY_SECRET_KEY_PREVIOUS: '',
  BELFRY_ROLE: 'all',
  OIDC_ISSUER: '',
  OIDC_CLIENT_ID: '',
  OIDC_CLIENT_SECRET: '',
  OIDC_NAME: 'SSO',
  BELFRY_MAIL_URL: '',
  BELFRY_OUTBOUND_ALLOW: '',
  BELFRY_OUTBOX_URLS: '',
  LOG_LEVEL: 'info',
  METRICS_HOST: '127.0.0.1',
  METRICS_PORT: '',
  METRICS_TOKEN: '',
  OTEL_EXPORTER_OTLP_ENDPOINT: '',
  OTEL_EXPORTER_OTLP_HEADERS: '',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf',
  OTEL_SERVICE_NAME: '',
  OTEL_RESOURCE_ATTRIBUTES: '',
  OTEL_TRACES_SAMPLER: 'parentbased_always_on',
  OTEL_TRACES_SAMPLER_ARG: '',
  BELFRY_URL: '',
  BELFRY_KEY: '',
} as const;

type Name = keyof typeof settings;

const shortestSecret = 32;
const shortestToken = 16;
const longestInstance = 255;

/** `toServe`: the program is going to listen, and needs what only a server needs. */
export function loadConfig(env: Record<string, string | undefined>, { toServe = false } = {}): Config {
  const problems: FieldErrors = {};
  const complain = (name: string, message: string) => {
    problems[name] = [...(problems[name] ?? []), message];
  };

  const read = (name: Name): string => {
    const file = env[`${name}_FILE`];
    if (!file) return (env[name] || settings[name]).trim();
    if (env[name]) complain(name, `is given twice: unset either ${name} or ${name}_FILE`);
    try {
      return readFileSync(file, 'utf8').trim();
    } catch (error) {
      complain(`${name}_FILE`, `cannot be read (${(error as NodeJS.ErrnoException).code})`);
      return settings[name];
    }
  };
  const oneOf = <T extends string>(name: Name, allowed: readonly T[]): T => {
    const value = read(name).toLowerCase() as T;
    if (!allowed.includes(value)) complain(name, `must be one of ${allowed.join(', ')}`);
    return value;
  };
  const url = (name: Name, protocols: string[]): string | undefined => {
    const value = read(name);
    if (value === '') return undefined;
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (!parsed || !protocols.includes(parsed.protocol)) {
      complain(name, `must be an address that starts with ${protocols.map(p => `${p}//`).join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  };
  const split = (name: Name, separator: RegExp) => read(name).split(separator).filter(Boolean);
  const list = (name: Name, valid: (entry: string) => boolean, form: string): string[] => {
    const entries = split(name, /[\s,]+/);
    for (const entry of entries) if (!valid(entry)) complain(name, `"${entry}" is not ${form}`);
    return entries;
  };

  const readPort = (name: Name): number | undefined => {
    const text = read(name);
    if (text === '') return undefined;
    const value = Number(text);
    if (!Number.isInteger(value) || value < 0 || value > 65535) complain(name, 'must be a number from 0 to 65535');
    return value;
  };

  const host = read('HOST');
  const port = readPort('PORT')!;
  const baseUrl = url('BASE_URL', ['http:', 'https:']);
  if (toServe && baseUrl === undefined && !isLoopback(host)) {
    complain(
      'BASE_URL',
      `is required because HOST=${host} is open to other machines: set it to the address by which people and programs ` +
        'reach Belfry, such as https://notify.example.com. Links are made from it, and nobody can make them lead elsewhere',
    );
  }

  const databaseUrl = url('DATABASE_URL', ['postgres:', 'postgresql:']);
  const directDatabaseUrl = url('BELFRY_DIRECT_DATABASE_URL', ['postgres:', 'postgresql:']);
  if (directDatabaseUrl && !databaseUrl) {
    complain('BELFRY_DIRECT_DATABASE_URL', 'is of no use without DATABASE_URL: set that to the address of the pooler');
  }
  const instance = read('BELFRY_INSTANCE') || undefined;
  if (instance && instance.length > longestInstance) {
    complain('BELFRY_INSTANCE', `must have at most ${longestInstance} characters`);
  }
  const secretKey = read('BELFRY_SECRET_KEY') || undefined;
  if (databaseUrl && !secretKey) {
    complain('BELFRY_SECRET_KEY', 'is required with DATABASE_URL: generate one with `openssl rand -base64 32`');
  }
  if (secretKey && secretKey.length < shortestSecret) {
    complain('BELFRY_SECRET_KEY', `must have at least ${shortestSecret} characters`);
  }
  // By commas alone: a passphrase may have spaces. A secret is never repeated in a message.
  const previousSecretKeys = split('BELFRY_SECRET_KEY_PREVIOUS', /\s*,\s*/);
  if (previousSecretKeys.some(key => key.length < shortestSecret)) {
    complain('BELFRY_SECRET_KEY_PREVIOUS', `must have at least ${shortestSecret} characters each, separated by commas`);
  }
  if (previousSecretKeys.length > 0 && !secretKey) {
    complain('BELFRY_SECRET_KEY_PREVIOUS', 'is of no use without BELFRY_SECRET_KEY: set that to the new key');
  }

  const token = read('METRICS_TOKEN') || undefined;
  if (token && token.length < shortestToken) {
    complain(
      'METRICS_TOKEN',
      `must have at least ${shortestToken} characters: generate one with \`openssl rand -hex 32\``,
    );
  }
  const metrics = { host: read('METRICS_HOST'), port: readPort('METRICS_PORT'), token };
  if (metrics.port !== undefined && metrics.port !== 0 && metrics.port === port) {
    complain(
      'METRICS_PORT',
      'must be another one than PORT: leave it empty to have metrics at /metrics beside the API',
    );
  }

  const traceNames = Object.keys(settings).filter((name): name is keyof TraceVariables => name.startsWith('OTEL_'));
  const traces = readTraceSettings(
    Object.fromEntries(traceNames.map(name => [name, read(name)])) as unknown as TraceVariables,
  );
  if (traces && 'mistakes' in traces) for (const { name, message } of traces.mistakes) complain(name, message);

  const issuer = url('OIDC_ISSUER', ['https:', 'http:']);
  if (issuer?.startsWith('http:') && URL.canParse(issuer) && !isLoopback(new URL(issuer).hostname)) {
    complain('OIDC_ISSUER', 'must start with https://');
  }
  const clientId = read('OIDC_CLIENT_ID');
  const providerName = read('OIDC_NAME');
  const clientSecret = read('OIDC_CLIENT_SECRET');
  const given = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
  if (Object.values(given).some(Boolean)) {
    for (const [name, value] of Object.entries(given)) {
      if (!value) complain(name, 'is missing: OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET go together');
    }
  }

  const mailUrl = read('BELFRY_MAIL_URL');
  const mail = mailUrl === '' ? undefined : readMailUrl(mailUrl);
  if (mail && 'mistakes' in mail) for (const mistake of mail.mistakes) complain('BELFRY_MAIL_URL', mistake);
  if (mail && !baseUrl) {
    // Else whoever asks for a reset could choose the host that the link in the mail leads to.
    complain('BASE_URL', 'is required with BELFRY_MAIL_URL: links in mails lead there');
  }

  const outboxes = readOutboxSources(read('BELFRY_OUTBOX_URLS'));
  if ('mistakes' in outboxes) for (const mistake of outboxes.mistakes) complain('BELFRY_OUTBOX_URLS', mistake);

  const config: Config = {
    host,
    port,
    baseUrl,
    databaseUrl,
    directDatabaseUrl,
    dataDir: read('BELFRY_DATA_DIR'),
    instance,
    secretKey,
    previousSecretKeys,
    role: oneOf('BELFRY_ROLE', roles),
    oidc: issuer ? { issuer, clientId, clientSecret, name: providerName } : undefined,
    mail: mail && 'mistakes' in mail ? undefined : mail,
    outboundAllow: list('BELFRY_OUTBOUND_ALLOW', isNetwork, 'a network such as 10.0.0.0/8'),
    outboxes: 'sources' in outboxes ? outboxes.sources : [],
    trustProxy: list('TRUST_PROXY', isNetwork, 'an address or network such as 10.0.0.1 or 10.0.0.0/8'),
    corsOrigins: list('CORS_ORIGINS', isOrigin, 'an origin such as https://app.example.com'),
    logLevel: oneOf('LOG_LEVEL', logLevels),
    metrics,
    traces: traces && 'settings' in traces ? traces.settings : undefined,
    url: url('BELFRY_URL', ['http:', 'https:']),
    key: read('BELFRY_KEY') || undefined,
  };

  if (Object.keys(problems).length > 0) {
    const lines = Object.entries(problems).map(([name, messages]) => `  ${name} ${messages.join('; ')}`);
    throw new AppError('config.invalid', `the environment has mistakes:\n${lines.join('\n')}`, { fields: problems });
  }
  return Object.freeze(config);
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const local = new BlockList();
  local.addSubnet('127.0.0.0', 8, 'ipv4');
  local.addAddress('::1', 'ipv6');
  const family = isIP(host);
  return family !== 0 && local.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
