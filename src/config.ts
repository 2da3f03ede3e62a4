/**
 * Reads the environment into a frozen Config. Every variable can be set as NAME_FILE, the path of a file with the value.
 * All problems are reported together, so that an operator does not fix them one restart at a time.
 */

import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { AppError, type FieldErrors } from './core/errors.ts';
import { checkDatabaseUrl, checkReplicaUrl } from './core/operations/database-url.ts';
import { type MailSettings, readMailUrl } from './core/operations/mail-url.ts';
import { type OutboxSource, readOutboxSources } from './core/operations/outbox.ts';
import { slugPattern } from './core/text/text.ts';
import { findCertificateError, type MailCertificate } from './lib/network/certificate.ts';
import { isDnsServer } from './lib/network/dns.ts';
import { isNetwork } from './lib/network/networks.ts';
import { readTraceSettings, type TraceSettings, type TraceVariables } from './lib/telemetry/trace-settings.ts';

export const roles = ['all', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string | undefined;
  /** Undefined: use the embedded PostgreSQL in the data folder. */
  readonly databaseUrl: string | undefined;
  /** The same database without the pooler of `databaseUrl`. Undefined: `databaseUrl` has no pooler. */
  readonly directDatabaseUrl: string | undefined;
  /** Standbys of the database, for reads that may be a few seconds old. */
  readonly replicaUrl: string | undefined;
  readonly dataDir: string;
  /** The operator's name for this installation, which protects against using the database of another one. */
  readonly instance: string | undefined;
  /** The number of this cell, if there are several. Undefined: as the database was so far. */
  readonly cell: number | undefined;
  /** Undefined: generated once and kept in the data folder. */
  readonly secretKey: string | undefined;
  /** Previous keys: accepted for reading, never used for new data. */
  readonly previousSecretKeys: readonly string[];
  readonly role: Role;
  /** How long a stop may take. */
  readonly stopTimeoutMs: number;
  /** The identity provider for single sign-on. */
  readonly oidc: { issuer: string; clientId: string; clientSecret: string; name: string } | undefined;
  /** The mail server for invites and password resets. */
  readonly mail: MailSettings | undefined;
  /** Private networks that channels may connect to. Empty: none, not even loopback. */
  readonly outboundAllow: readonly string[];
  /** Slugs of the organizations whose channels may use the AWS role of this process; `*`: all. */
  readonly awsRoleFor: readonly string[];
  /** Servers for the check of sending domains. Empty: those of the system. */
  readonly dnsServers: readonly string[];
  /** Where bounce mails are received. Undefined: nowhere. */
  readonly smtpIn: { host: string; port: number; certificate: MailCertificate | undefined } | undefined;
  /** Outboxes in applications' own databases. */
  readonly outboxes: readonly OutboxSource[];
  readonly trustProxy: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly logLevel: (typeof logLevels)[number];
  /** Without a port, metrics are served at `/metrics` next to the API: if `host` is not a loopback address, only with a token. */
  readonly metrics: { host: string; port: number | undefined; token: string | undefined };
  /** Where spans are exported to. Undefined: tracing is off. */
  readonly traces: TraceSettings | undefined;
  /** The server that the command line calls instead of opening a database. */
  readonly url: string | undefined;
  /** The API key for `url`. */
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
  BELFRY_REPLICA_URL: '',
  BELFRY_DATA_DIR: './data',
  BELFRY_INSTANCE: '',
  BELFRY_CELL: '',
  BELFRY_SECRET_KEY: '',
  BELFRY_SECRET_KEY_PREVIOUS: '',
  BELFRY_ROLE: 'all',
  BELFRY_STOP_TIMEOUT: '10',
  OIDC_ISSUER: '',
  OIDC_CLIENT_ID: '',
  OIDC_CLIENT_SECRET: '',
  OIDC_NAME: 'SSO',
  BELFRY_MAIL_URL: '',
  BELFRY_SMTP_IN: '',
  BELFRY_SMTP_IN_CERT: '',
  BELFRY_SMTP_IN_KEY: '',
  BELFRY_OUTBOUND_ALLOW: '',
  BELFRY_AWS_ROLE_FOR: '',
  BELFRY_DNS_SERVERS: '',
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

const minSecretLength = 32;
const minTokenLength = 16;
const maxInstanceLength = 255;
const isSlug = new RegExp(slugPattern);
/** See db/connection/cell.ts. */
const maxCell = 255;

/** `toServe`: also require the settings that only a server needs. */
export function loadConfig(env: Record<string, string | undefined>, { toServe = false } = {}): Config {
  const problems: FieldErrors = {};
  const report = (name: string, message: string) => {
    problems[name] = [...(problems[name] ?? []), message];
  };

  const read = (name: Name): string => {
    const file = env[`${name}_FILE`];
    if (!file) return (env[name] || settings[name]).trim();
    if (env[name]) report(name, `is set twice: unset either ${name} or ${name}_FILE`);
    try {
      return readFileSync(file, 'utf8').trim();
    } catch (error) {
      report(`${name}_FILE`, `cannot be read (${(error as NodeJS.ErrnoException).code})`);
      return settings[name];
    }
  };
  const oneOf = <T extends string>(name: Name, allowed: readonly T[]): T => {
    const value = read(name).toLowerCase() as T;
    if (!allowed.includes(value)) report(name, `must be one of ${allowed.join(', ')}`);
    return value;
  };
  const url = (name: Name, protocols: string[]): string | undefined => {
    const value = read(name);
    if (value === '') return undefined;
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (!parsed || !protocols.includes(parsed.protocol)) {
      report(name, `must be a URL that starts with ${protocols.map(p => `${p}//`).join(' or ')}`);
    }
    return value.replace(/\/+$/, '');
  };
  const readDatabaseUrl = (name: Name, check = checkDatabaseUrl): string | undefined => {
    const value = read(name);
    const problem = value && check(value);
    if (problem) report(name, problem);
    return value.replace(/\/+$/, '') || undefined;
  };
  const split = (name: Name, separator: RegExp) => read(name).split(separator).filter(Boolean);
  const list = (name: Name, valid: (entry: string) => boolean, form: string): string[] => {
    const entries = split(name, /[\s,]+/);
    for (const entry of entries) if (!valid(entry)) report(name, `"${entry}" is not ${form}`);
    return entries;
  };

  const readPort = (name: Name): number | undefined => {
    const text = read(name);
    if (text === '') return undefined;
    const value = Number(text);
    if (!Number.isInteger(value) || value < 0 || value > 65535) report(name, 'must be a number from 0 to 65535');
    return value;
  };

  const readStopTimeoutMs = (): number => {
    const seconds = Number(read('BELFRY_STOP_TIMEOUT'));
    if (!Number.isInteger(seconds) || seconds < 2 || seconds > 600) {
      report('BELFRY_STOP_TIMEOUT', 'must be a number of seconds from 2 to 600');
    }
    return seconds * 1_000;
  };

  const readCell = (): number | undefined => {
    const text = read('BELFRY_CELL');
    const cell = Number(text);
    if (!Number.isInteger(cell) || cell < 0 || cell > maxCell) {
      report('BELFRY_CELL', `must be a number from 0 to ${maxCell}`);
    }
    return text === '' ? undefined : cell;
  };

  const host = read('HOST');
  const port = readPort('PORT')!;
  const baseUrl = url('BASE_URL', ['http:', 'https:']);
  if (toServe && baseUrl === undefined && !isLoopback(host)) {
    report(
      'BASE_URL',
      `is required because HOST=${host} accepts connections from other machines: set it to the public URL of Belfry, such ` +
        'as https://notify.example.com. Links are built from it, so a forged Host header cannot redirect them',
    );
  }

  const databaseUrl = readDatabaseUrl('DATABASE_URL');
  const directDatabaseUrl = readDatabaseUrl('BELFRY_DIRECT_DATABASE_URL');
  if (directDatabaseUrl && !databaseUrl) {
    report(
      'BELFRY_DIRECT_DATABASE_URL',
      'has no effect without DATABASE_URL: set DATABASE_URL to the address of the pooler',
    );
  }
  const replicaUrl = readDatabaseUrl('BELFRY_REPLICA_URL', checkReplicaUrl);
  if (replicaUrl && !databaseUrl) report('BELFRY_REPLICA_URL', 'has no effect without DATABASE_URL: set both');
  const instance = read('BELFRY_INSTANCE') || undefined;
  if (instance && instance.length > maxInstanceLength) {
    report('BELFRY_INSTANCE', `must have at most ${maxInstanceLength} characters`);
  }
  const secretKey = read('BELFRY_SECRET_KEY') || undefined;
  if (databaseUrl && !secretKey) {
    report('BELFRY_SECRET_KEY', 'is required with DATABASE_URL: generate one with `openssl rand -base64 32`');
  }
  if (secretKey && secretKey.length < minSecretLength) {
    report('BELFRY_SECRET_KEY', `must have at least ${minSecretLength} characters`);
  }
  // Separated by commas only, because a passphrase may contain spaces. Error messages never include a secret.
  const previousSecretKeys = split('BELFRY_SECRET_KEY_PREVIOUS', /\s*,\s*/);
  if (previousSecretKeys.some(key => key.length < minSecretLength)) {
    report('BELFRY_SECRET_KEY_PREVIOUS', `must have at least ${minSecretLength} characters each, separated by commas`);
  }
  if (previousSecretKeys.length > 0 && !secretKey) {
    report(
      'BELFRY_SECRET_KEY_PREVIOUS',
      'has no effect without BELFRY_SECRET_KEY: set BELFRY_SECRET_KEY to the new key',
    );
  }

  const token = read('METRICS_TOKEN') || undefined;
  if (token && token.length < minTokenLength) {
    report(
      'METRICS_TOKEN',
      `must have at least ${minTokenLength} characters: generate one with \`openssl rand -hex 32\``,
    );
  }
  const metrics = { host: read('METRICS_HOST'), port: readPort('METRICS_PORT'), token };
  if (metrics.port !== undefined && metrics.port !== 0 && metrics.port === port) {
    report('METRICS_PORT', 'must differ from PORT: leave it empty to serve metrics at /metrics next to the API');
  }

  const traceNames = Object.keys(settings).filter((name): name is keyof TraceVariables => name.startsWith('OTEL_'));
  const traces = readTraceSettings(
    Object.fromEntries(traceNames.map(name => [name, read(name)])) as unknown as TraceVariables,
  );
  if (traces && 'mistakes' in traces) for (const { name, message } of traces.mistakes) report(name, message);

  const issuer = url('OIDC_ISSUER', ['https:', 'http:']);
  if (issuer?.startsWith('http:') && URL.canParse(issuer) && !isLoopback(new URL(issuer).hostname)) {
    report('OIDC_ISSUER', 'must start with https://');
  }
  const clientId = read('OIDC_CLIENT_ID');
  const providerName = read('OIDC_NAME');
  const clientSecret = read('OIDC_CLIENT_SECRET');
  const required = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: clientSecret };
  if (Object.values(required).some(Boolean)) {
    for (const [name, value] of Object.entries(required)) {
      if (!value) report(name, 'is missing: set OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET together');
    }
  }

  const mailUrl = read('BELFRY_MAIL_URL');
  const mail = mailUrl === '' ? undefined : readMailUrl(mailUrl);
  if (mail && 'mistakes' in mail) for (const mistake of mail.mistakes) report('BELFRY_MAIL_URL', mistake);
  if (mail && !baseUrl) {
    // Otherwise the Host header of a reset request would decide where the link in the mail leads.
    report('BASE_URL', 'is required with BELFRY_MAIL_URL: links in mail are built from it');
  }

  const smtpInText = read('BELFRY_SMTP_IN');
  const smtpIn = /^(?:(\[[0-9a-f:.]+\]|[^\s:/]+):)?(\d{1,5})$/i.exec(smtpInText);
  if (smtpInText !== '' && !(Number(smtpIn?.[2]) <= 65_535)) {
    report('BELFRY_SMTP_IN', 'must be a port, or an address and a port such as 0.0.0.0:25');
  }

  const [cert, key] = [read('BELFRY_SMTP_IN_CERT'), read('BELFRY_SMTP_IN_KEY')];
  const certificateError = cert || key ? findCertificateError(cert, key) : undefined;
  if (certificateError) report('BELFRY_SMTP_IN_CERT', certificateError);
  const [certFile, keyFile] = [env.BELFRY_SMTP_IN_CERT_FILE, env.BELFRY_SMTP_IN_KEY_FILE];
  const certificate = cert
    ? { cert, key, ...(certFile && keyFile && { files: { cert: certFile, key: keyFile } }) }
    : undefined;

  const outboxes = readOutboxSources(read('BELFRY_OUTBOX_URLS'));
  if ('mistakes' in outboxes) for (const mistake of outboxes.mistakes) report('BELFRY_OUTBOX_URLS', mistake);

  const config: Config = {
    host,
    port,
    baseUrl,
    databaseUrl,
    directDatabaseUrl,
    replicaUrl,
    dataDir: read('BELFRY_DATA_DIR'),
    instance,
    cell: readCell(),
    secretKey,
    previousSecretKeys,
    role: oneOf('BELFRY_ROLE', roles),
    oidc: issuer ? { issuer, clientId, clientSecret, name: providerName } : undefined,
    mail: mail && 'mistakes' in mail ? undefined : mail,
    outboundAllow: list('BELFRY_OUTBOUND_ALLOW', isNetwork, 'a network such as 10.0.0.0/8'),
    awsRoleFor: list(
      'BELFRY_AWS_ROLE_FOR',
      slug => slug === '*' || isSlug.test(slug),
      'the slug of an organization, or *',
    ),
    dnsServers: list('BELFRY_DNS_SERVERS', isDnsServer, 'an address such as 192.0.2.53 or 192.0.2.53:5353'),
    smtpIn: smtpIn
      ? { host: smtpIn[1]?.replace(/^\[|\]$/g, '') ?? host, port: Number(smtpIn[2]), certificate }
      : undefined,
    outboxes: 'sources' in outboxes ? outboxes.sources : [],
    trustProxy: list('TRUST_PROXY', isNetwork, 'an address or network such as 10.0.0.1 or 10.0.0.0/8'),
    corsOrigins: list('CORS_ORIGINS', isOrigin, 'an origin such as https://app.example.com'),
    stopTimeoutMs: readStopTimeoutMs(),
    logLevel: oneOf('LOG_LEVEL', logLevels),
    metrics,
    traces: traces && 'settings' in traces ? traces.settings : undefined,
    url: url('BELFRY_URL', ['http:', 'https:']),
    key: read('BELFRY_KEY') || undefined,
  };

  if (Object.keys(problems).length > 0) {
    const lines = Object.entries(problems).map(([name, messages]) => `  ${name} ${messages.join('; ')}`);
    throw new AppError('config.invalid', `invalid settings:\n${lines.join('\n')}`, { fields: problems });
  }
  return Object.freeze(config);
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

/**
 * Returns the address in acknowledge links: the public one, or the process's own on a loopback address, where sender and
 * recipient use the same machine. Undefined: there is none.
 */
export function linkUrlOf({ baseUrl, host, port, role }: Config): string | undefined {
  if (baseUrl !== undefined) return baseUrl;
  if (role !== 'all' || port === 0 || !isLoopback(host)) return undefined;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

export function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const local = new BlockList();
  local.addSubnet('127.0.0.0', 8, 'ipv4');
  local.addAddress('::1', 'ipv6');
  const family = isIP(host);
  return family !== 0 && local.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
