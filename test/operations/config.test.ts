import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { linkUrlOf, loadConfig, settings } from '../../src/config.ts';
import { AppError } from '../../src/core/errors.ts';

const secret = 's'.repeat(32);
const postgres = 'postgres://belfry@db.example/belfry';

/** The problems that an environment has, by the name of the setting. */
function problemsOf(env: Record<string, string>, how?: { toServe: boolean }): Record<string, string[]> {
  try {
    loadConfig(env, how);
  } catch (error) {
    if (error instanceof AppError && error.code === 'config.invalid') return error.details.fields ?? {};
    throw error;
  }
  return {};
}

/** A file with this text that goes away after the test. */
function fileWith(text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'belfry-config-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = path.join(folder, 'value');
  writeFileSync(file, text);
  return file;
}

describe('links in messages', () => {
  test.each([
    [{}, 'http://127.0.0.1:8000'],
    [{ HOST: '::1', PORT: '9000' }, 'http://[::1]:9000'],
    [{ BASE_URL: 'https://notify.example.com' }, 'https://notify.example.com'],
    // The API runs elsewhere, or its port is not known yet.
    [{ BELFRY_ROLE: 'worker' }, undefined],
    [{ PORT: '0' }, undefined],
  ])('lead with %j to %j', (env, url) => expect(linkUrlOf(loadConfig(env))).toBe(url));
});

describe('an empty environment', () => {
  test('means an embedded database on the loopback interface', () => {
    expect(loadConfig({})).toEqual(
      expect.objectContaining({
        host: '127.0.0.1',
        port: 8000,
        baseUrl: undefined,
        databaseUrl: undefined,
        dataDir: './data',
        secretKey: undefined,
        role: 'all',
        outboundAllow: [],
        awsRoleFor: [],
        dnsServers: [],
        trustProxy: [],
        corsOrigins: [],
        logLevel: 'info',
        oidc: undefined,
        previousSecretKeys: [],
        metrics: { host: '127.0.0.1', port: undefined, token: undefined },
      }),
    );
  });

  test('results in a frozen config', () => {
    expect(Object.isFrozen(loadConfig({}))).toBe(true);
  });

  test('is the same as one whose settings are all empty', () => {
    const empty = Object.fromEntries(Object.keys(settings).map(name => [name, '']));
    expect(loadConfig(empty)).toEqual(loadConfig({}));
  });
});

describe('settings', () => {
  test('are read and trimmed', () => {
    const config = loadConfig({
      HOST: ' 0.0.0.0 ',
      PORT: '9000',
      BASE_URL: 'https://notify.example.com/',
      DATABASE_URL: postgres,
      BELFRY_SECRET_KEY: secret,
      BELFRY_ROLE: 'Worker',
      BELFRY_STOP_TIMEOUT: '60',
      BELFRY_OUTBOUND_ALLOW: '10.0.0.0/8, fd00::/8',
      BELFRY_AWS_ROLE_FOR: 'acme, shop',
      BELFRY_DNS_SERVERS: '192.0.2.53 192.0.2.53:5353,2001:db8::53, [2001:db8::53]:5353',
      TRUST_PROXY: '10.0.0.1 10.1.0.0/16',
      CORS_ORIGINS: 'https://a.example,https://b.example:8443',
      LOG_LEVEL: 'DEBUG',
      BELFRY_SECRET_KEY_PREVIOUS: `${'a b '.repeat(8)}c , ${'d'.repeat(32)}`,
      METRICS_HOST: '0.0.0.0',
      METRICS_PORT: '9100',
      METRICS_TOKEN: 't'.repeat(16),
      OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.example:4318/otlp/',
      OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20a%3Db , x-team = bells',
      OTEL_EXPORTER_OTLP_PROTOCOL: 'HTTP/JSON',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging,service.name=bells',
      OTEL_TRACES_SAMPLER: 'ParentBased_TraceIdRatio',
      OTEL_TRACES_SAMPLER_ARG: '0.25',
    });
    expect(config).toMatchObject({
      host: '0.0.0.0',
      port: 9000,
      baseUrl: 'https://notify.example.com',
      databaseUrl: postgres,
      secretKey: secret,
      role: 'worker',
      stopTimeoutMs: 60_000,
      outboundAllow: ['10.0.0.0/8', 'fd00::/8'],
      awsRoleFor: ['acme', 'shop'],
      dnsServers: ['192.0.2.53', '192.0.2.53:5353', '2001:db8::53', '[2001:db8::53]:5353'],
      trustProxy: ['10.0.0.1', '10.1.0.0/16'],
      corsOrigins: ['https://a.example', 'https://b.example:8443'],
      logLevel: 'debug',
      previousSecretKeys: [`${'a b '.repeat(8)}c`, 'd'.repeat(32)],
      metrics: { host: '0.0.0.0', port: 9100, token: 't'.repeat(16) },
      traces: {
        url: 'https://collector.example:4318/otlp/v1/traces',
        protocol: 'http/json',
        headers: { authorization: 'Bearer a=b', 'x-team': 'bells' },
        resource: { 'deployment.environment.name': 'staging', 'service.name': 'bells' },
        sampler: 'parentbased_traceidratio',
        ratio: 0.25,
      },
    });
  });

  test('of traces have the defaults of OpenTelemetry, and are ignored without an endpoint', () => {
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    expect(loadConfig(endpoint).traces).toEqual({
      url: 'http://127.0.0.1:4318/v1/traces',
      protocol: 'http/protobuf',
      headers: {},
      resource: { 'service.name': 'belfry' },
      sampler: 'parentbased_always_on',
      ratio: 1,
    });
    const named = { OTEL_SERVICE_NAME: 'mine', OTEL_RESOURCE_ATTRIBUTES: 'service.name=theirs' };
    expect(loadConfig({ ...endpoint, ...named }).traces?.resource).toEqual({ 'service.name': 'mine' });
    expect(loadConfig({ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER: 'xray' }).traces).toBeUndefined();
  });

  test.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'https://name:hidden-word@collector.example'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'hidden-word'],
    ['OTEL_EXPORTER_OTLP_HEADERS', '=hidden-word'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%E0%A4%A'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=hidden-word%0d%0ab'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a b=hidden-word'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'production'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', 'all'],
  ])('of traces reject %s=%s without repeating a secret', (name, value) => {
    const found = problemsOf({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318', [name]: value });
    expect(Object.keys(found)).toEqual([name]);
    expect(JSON.stringify(found)).not.toContain('hidden-word');
  });

  test.each(['127.0.0.1', '127.8.0.1', 'localhost', '::1', '0.0.0.0', '::', '192.168.0.5', 'belfry.example'])(
    'on HOST %s channels reach no private network, not even the loopback, unless it is allowed',
    HOST => {
      expect(loadConfig({ HOST }).outboundAllow).toEqual([]);
      expect(loadConfig({ HOST, BELFRY_OUTBOUND_ALLOW: '127.0.0.0/8' }).outboundAllow).toEqual(['127.0.0.0/8']);
    },
  );

  test.each([
    ['PORT', 'http'],
    ['PORT', '-1'],
    ['PORT', '65536'],
    ['PORT', '80.5'],
    ['BASE_URL', 'notify.example.com'],
    ['BASE_URL', 'ftp://notify.example.com'],
    ['BELFRY_SECRET_KEY', 'short'],
    ['BELFRY_ROLE', 'boss'],
    ['BELFRY_OUTBOUND_ALLOW', '10.0.0.0/33'],
    ['BELFRY_OUTBOUND_ALLOW', 'everything'],
    ['BELFRY_AWS_ROLE_FOR', 'Not a slug!'],
    ['BELFRY_DNS_SERVERS', 'dns.acme.test'],
    ['BELFRY_DNS_SERVERS', '192.0.2.53:0'],
    ['BELFRY_DNS_SERVERS', '[192.0.2.53]:53'],
    ['TRUST_PROXY', 'true'],
    ['TRUST_PROXY', '10.0.0.1/'],
    ['CORS_ORIGINS', '*'],
    ['CORS_ORIGINS', 'https://a.example/path'],
    ['BELFRY_STOP_TIMEOUT', '1'],
    ['BELFRY_STOP_TIMEOUT', 'soon'],
    ['LOG_LEVEL', 'loud'],
    ['BELFRY_URL', 'belfry.example'],
    ['METRICS_PORT', 'many'],
    ['BELFRY_SMTP_IN', '0.0.0.0'],
    ['BELFRY_SMTP_IN', '0.0.0.0:65536'],
    ['BELFRY_SMTP_IN', 'smtp://0.0.0.0:25'],
    ['METRICS_PORT', '65536'],
    ['METRICS_PORT', '8000'],
    ['METRICS_TOKEN', 'fifteen letters'],
  ])('%s may not be %s', (name, value) => {
    expect(Object.keys(problemsOf({ [name]: value }))).toEqual([name]);
  });

  test('DATABASE_URL must be a PostgreSQL URL, and requires a secret key', () => {
    expect(Object.keys(problemsOf({ DATABASE_URL: 'mysql://db', BELFRY_SECRET_KEY: secret }))).toEqual([
      'DATABASE_URL',
    ]);
    expect(Object.keys(problemsOf({ DATABASE_URL: postgres }))).toEqual(['BELFRY_SECRET_KEY']);
  });

  test('previous keys need the minimum length and a current key, and are never repeated in a message', () => {
    const BELFRY_SECRET_KEY = secret;
    const problems = problemsOf({
      BELFRY_SECRET_KEY,
      BELFRY_SECRET_KEY_PREVIOUS: `${secret},hush hush`,
    });
    expect(problems).toEqual({ BELFRY_SECRET_KEY_PREVIOUS: [expect.stringContaining('at least 32 characters')] });
    expect(JSON.stringify(problems)).not.toContain('hush');
    expect(problemsOf({ BELFRY_SECRET_KEY_PREVIOUS: secret })).toEqual({
      BELFRY_SECRET_KEY_PREVIOUS: [expect.stringContaining('BELFRY_SECRET_KEY')],
    });
  });

  test.each([
    ['127.0.0.1', true],
    ['localhost', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['192.168.0.5', false],
    ['belfry.example', false],
  ])('a server on HOST %s works without BASE_URL: %s', (HOST, may) => {
    const told = { BASE_URL: [expect.stringMatching(/required because HOST=.*https:\/\/notify\.example\.com/)] };
    expect(problemsOf({ HOST }, { toServe: true })).toEqual(may ? {} : told);
    expect(problemsOf({ HOST, BASE_URL: 'https://notify.example.com' }, { toServe: true })).toEqual({});
    expect(problemsOf({ HOST })).toEqual({});
  });

  test('a missing BASE_URL is reported together with all other problems', () => {
    expect(Object.keys(problemsOf({ HOST: '0.0.0.0', PORT: 'x' }, { toServe: true })).sort()).toEqual([
      'BASE_URL',
      'PORT',
    ]);
  });

  test('an identity provider needs an https URL, an id and a secret', () => {
    const OIDC_ISSUER = 'https://id.example.com';
    const rest = { OIDC_CLIENT_ID: 'belfry', OIDC_CLIENT_SECRET: 'hush' };
    expect(loadConfig({ OIDC_ISSUER, ...rest, OIDC_NAME: 'Example' }).oidc).toEqual({
      issuer: OIDC_ISSUER,
      clientId: 'belfry',
      clientSecret: 'hush',
      name: 'Example',
    });
    expect(Object.keys(problemsOf({ OIDC_ISSUER }))).toEqual(['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET']);
    expect(Object.keys(problemsOf(rest))).toEqual(['OIDC_ISSUER']);
    expect(Object.keys(problemsOf({ OIDC_ISSUER: 'http://id.example.com', ...rest }))).toEqual(['OIDC_ISSUER']);
    expect(problemsOf({ OIDC_ISSUER: 'http://127.0.0.1:9000', ...rest })).toEqual({});
  });

  test('a mail server is one address, with the sender in it', () => {
    const BASE_URL = 'https://notify.example.com';
    const mailOf = (BELFRY_MAIL_URL: string) => loadConfig({ BASE_URL, BELFRY_MAIL_URL }).mail;
    expect(mailOf('smtp://jo%40x.test:p%3Aw@mail.x.test:2525?from=Belfry%20<no-reply@x.test>')).toEqual({
      host: 'mail.x.test',
      port: 2525,
      secure: false,
      user: 'jo@x.test',
      password: 'p:w',
      from: 'Belfry <no-reply@x.test>',
    });
    expect(mailOf('smtps://[::1]?from=b@x.test&starttls=never')).toEqual({
      host: '::1',
      secure: true,
      starttls: 'never',
      from: 'b@x.test',
    });
    expect(loadConfig({}).mail).toBeUndefined();
    const file = fileWith('smtp://mail.x.test?from=b@x.test\n');
    expect(loadConfig({ BASE_URL, BELFRY_MAIL_URL_FILE: file }).mail).toMatchObject({ host: 'mail.x.test' });
  });

  test.each([
    ['mail.x.test', 'must be a URL such as smtp://'],
    ['https://mail.x.test?from=b@x.test', 'must be a URL such as smtp://'],
    ['smtp://?from=b@x.test', 'must be a URL such as smtp://'],
    ['smtp://mail.x.test', 'has no sender'],
    ['smtp://mail.x.test?from=nobody', 'is not an email address'],
    ['smtp://mail.x.test/path?from=b@x.test', 'has a path'],
    ['smtp://mail.x.test?from=b@x.test&form=b@x.test', 'has the unknown parameter "form"'],
    ['smtp://mail.x.test?from=b@x.test&starttls=maybe', 'starttls=maybe'],
    ['smtp://user@mail.x.test?from=b@x.test', 'set both or neither'],
    ['smtp://user:100%@mail.x.test?from=b@x.test', 'write % as %25'],
  ])('BELFRY_MAIL_URL may not be %s', (BELFRY_MAIL_URL, words) => {
    const problems = problemsOf({ BASE_URL: 'https://notify.example.com', BELFRY_MAIL_URL });
    expect(problems).toEqual({ BELFRY_MAIL_URL: [expect.stringContaining(words)] });
  });

  test('a mail server requires BASE_URL', () => {
    expect(Object.keys(problemsOf({ BELFRY_MAIL_URL: 'smtp://mail.x.test?from=b@x.test' }))).toEqual(['BASE_URL']);
  });

  test('that are invalid are all reported at once', () => {
    const problems = { PORT: 'x', BELFRY_ROLE: 'x', LOG_LEVEL: 'x', CORS_ORIGINS: 'x y', DATABASE_URL: 'x' };
    expect(Object.keys(problemsOf(problems)).sort()).toEqual(
      ['BELFRY_ROLE', 'BELFRY_SECRET_KEY', 'CORS_ORIGINS', 'DATABASE_URL', 'LOG_LEVEL', 'PORT'].sort(),
    );
    expect(problemsOf(problems).CORS_ORIGINS).toHaveLength(2);
    for (const name of Object.keys(problems)) expect(() => loadConfig(problems)).toThrow(name);
  });
});

describe('a setting from a file', () => {
  test.each(Object.keys(settings))('%s_FILE is looked at', name => {
    expect(problemsOf({ [`${name}_FILE`]: '/nowhere/at/all' })).toMatchObject({ [`${name}_FILE`]: [/ENOENT/] });
  });

  test('is trimmed', () => {
    expect(loadConfig({ BELFRY_SECRET_KEY_FILE: fileWith(`${secret}\n`) }).secretKey).toBe(secret);
  });

  test('is checked like any other', () => {
    expect(Object.keys(problemsOf({ PORT_FILE: fileWith('many') }))).toEqual(['PORT']);
  });

  test('conflicts with the setting itself', () => {
    expect(problemsOf({ PORT: '1', PORT_FILE: fileWith('1') })).toEqual({ PORT: [expect.stringContaining('twice')] });
  });
});

test('.env.example lists exactly the settings, in their order, with their defaults', () => {
  const text = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8');
  const listed = [...text.matchAll(/^#? ?([A-Z][A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]);
  expect(listed).toEqual(Object.entries(settings));
});
