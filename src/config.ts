/**
 * Environment → frozen Config. Every variable may be given as NAME_FILE, a file that holds the value.
 * All problems are collected and told at once, so that nobody mends them one restart at a time.
 */
import { readFileSync } from 'node:fs';
import { BlockList, isIP } from 'node:net';
import { AppError, type FieldErrors } from './core/errors.ts';
import { type MailSettings, readMailUrl } from './core/mail-url.ts';

export const roles = ['all', 'api', 'worker'] as const;
export type Role = (typeof roles)[number];

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export interface Config {
  readonly host: string;
  readonly port: number;
  readonly baseUrl: string | undefined;
  /** Undefined: the embedded PostgreSQL of the data folder. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  /** Undefined: generated once and kept in the data folder. */
  readonly secretKey: string | undefined;
  readonly role: Role;
  /** An identity provider that people may sign in by. */
  readonly oidc: { issuer: string; clientId: string; clientSecret: string; name: string } | undefined;
  /** The mail server for invites and password resets. */
  readonly mail: MailSettings | undefined;
  readonly outboundAllow: readonly string[];
  readonly trustProxy: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly logLevel: (typeof logLevels)[number];
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
  BELFRY_DATA_DIR: './data',
  BELFRY_SECRET_KEY: '',
  BELFRY_ROLE: 'all',
  OIDC_ISSUER: '',
  OIDC_CLIENT_ID: '',
  OIDC_CLIENT_SECRET: '',
  OIDC_NAME: 'SSO',
  BELFRY_MAIL_URL: '',
  BELFRY_OUTBOUND_ALLOW: '',
  LOG_LEVEL: 'info',
  BELFRY_URL: '',
  BELFRY_KEY: '',
} as const;

type Name = keyof typeof settings;

const loopback = ['127.0.0.0/8', '::1/128'];
const shortestSecret = 32;

export function loadConfig(env: Record<string, string | undefined>): Config {
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
  const list = (name: Name, valid: (entry: string) => boolean, form: string): string[] => {
    const entries = read(name)
      .split(/[\s,]+/)
      .filter(Boolean);
    for (const entry of entries) if (!valid(entry)) complain(name, `"${entry}" is not ${form}`);
    return entries;
  };

  const host = read('HOST');
  const port = Number(read('PORT'));
  if (!Number.isInteger(port) || port < 0 || port > 65535) complain('PORT', 'must be a number from 0 to 65535');

  const databaseUrl = url('DATABASE_URL', ['postgres:', 'postgresql:']);
  const secretKey = read('BELFRY_SECRET_KEY') || undefined;
  if (databaseUrl && !secretKey) {
    complain('BELFRY_SECRET_KEY', 'is required with DATABASE_URL: generate one with `openssl rand -base64 32`');
  }
  if (secretKey && secretKey.length < shortestSecret) {
    complain('BELFRY_SECRET_KEY', `must have at least ${shortestSecret} characters`);
  }

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

  const baseUrl = url('BASE_URL', ['http:', 'https:']);
  const mailUrl = read('BELFRY_MAIL_URL');
  const mail = mailUrl === '' ? undefined : readMailUrl(mailUrl);
  if (mail && 'mistakes' in mail) for (const mistake of mail.mistakes) complain('BELFRY_MAIL_URL', mistake);
  if (mail && !baseUrl) {
    // Else whoever asks for a reset could choose the host that the link in the mail leads to.
    complain('BASE_URL', 'is required with BELFRY_MAIL_URL: links in mails lead there');
  }

  const outbound = list('BELFRY_OUTBOUND_ALLOW', isNetwork, 'a network such as 10.0.0.0/8');
  const config: Config = {
    host,
    port,
    baseUrl,
    databaseUrl,
    dataDir: read('BELFRY_DATA_DIR'),
    secretKey,
    role: oneOf('BELFRY_ROLE', roles),
    oidc: issuer ? { issuer, clientId, clientSecret, name: providerName } : undefined,
    mail: mail && 'mistakes' in mail ? undefined : mail,
    outboundAllow: outbound.length === 0 && isLoopback(host) ? loopback : outbound,
    trustProxy: list('TRUST_PROXY', isNetwork, 'an address or network such as 10.0.0.1 or 10.0.0.0/8'),
    corsOrigins: list('CORS_ORIGINS', isOrigin, 'an origin such as https://app.example.com'),
    logLevel: oneOf('LOG_LEVEL', logLevels),
    url: url('BELFRY_URL', ['http:', 'https:']),
    key: read('BELFRY_KEY') || undefined,
  };

  if (Object.keys(problems).length > 0) {
    const lines = Object.entries(problems).map(([name, messages]) => `  ${name} ${messages.join('; ')}`);
    throw new AppError('config.invalid', `the environment has mistakes:\n${lines.join('\n')}`, { fields: problems });
  }
  return Object.freeze(config);
}

function isNetwork(text: string): boolean {
  const [address = '', bits] = text.split('/');
  const family = isIP(address);
  if (family === 0) return false;
  if (bits === undefined) return true;
  return /^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128);
}

function isOrigin(text: string): boolean {
  return URL.canParse(text) && new URL(text).origin === text;
}

function isLoopback(host: string): boolean {
  if (host === 'localhost') return true;
  const local = new BlockList();
  local.addSubnet('127.0.0.0', 8, 'ipv4');
  local.addAddress('::1', 'ipv6');
  const family = isIP(host);
  return family !== 0 && local.check(host, family === 4 ? 'ipv4' : 'ipv6');
}
