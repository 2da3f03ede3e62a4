/** Credentials of AWS roles, from local servers that answer only what the real ones would. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createOutbound } from '../../src/lib/network/outbound.ts';
import { EnvironmentRole } from '../../src/providers/aws-role.ts';
import { providers } from '../../src/providers/index.ts';
import { checkEntry } from '../../src/providers/provider.ts';
import { exampleOutgoing } from '../support/compliance.ts';
import { openHttpPeer, type RecordedRequest, type Reply } from '../support/http-peer.ts';

const until = (ms: number) => new Date(Date.now() + ms).toISOString();
const keys = { AccessKeyId: 'ASIAEXAMPLEEXAMPLE', SecretAccessKey: 'hush/role+key', Token: 'hush-session' };
const credentials = (ms = 3_600_000) => JSON.stringify({ Code: 'Success', ...keys, Expiration: until(ms) });

function fileWith(text: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'belfry-role-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(path.join(folder, 'token'), `${text}\n`);
  return path.join(folder, 'token');
}

/** IMDSv2: a session by PUT, then everything by GET with its token. */
function machine({ method, path: url, headers }: RecordedRequest): Reply {
  if (method === 'PUT' && url === '/latest/api/token') {
    return /^\d+$/.test(`${headers['x-aws-ec2-metadata-token-ttl-seconds']}`) ? { body: 'imds-1' } : { status: 400 };
  }
  if (method !== 'GET' || headers['x-aws-ec2-metadata-token'] !== 'imds-1') return { status: 401 };
  if (url === '/latest/meta-data/iam/security-credentials/') return { body: 'mail-role' };
  return url === '/latest/meta-data/iam/security-credentials/mail-role' ? { body: credentials() } : { status: 404 };
}

function container({ method, path: url, headers }: RecordedRequest): Reply {
  const isRight = method === 'GET' && url === '/v1/credentials' && headers.authorization === 'pod-token';
  return isRight ? { body: credentials() } : { status: 401 };
}

function sts({ method, path: url, headers, body }: RecordedRequest): Reply {
  const expected = {
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: 'arn:aws:iam::123456789012:role/mail',
    RoleSessionName: 'belfry',
    WebIdentityToken: 'eyJ.web.identity',
  };
  const form = Object.fromEntries(new URLSearchParams(body));
  const isRight =
    method === 'POST' &&
    url === '/' &&
    headers.authorization === undefined &&
    JSON.stringify(form) === JSON.stringify(expected);
  if (!isRight) {
    const error = '<Code>InvalidIdentityToken</Code><Message>No OpenIDConnect provider found</Message>';
    return { status: 400, body: `<ErrorResponse><Error>${error}</Error></ErrorResponse>` };
  }
  const { AccessKeyId, SecretAccessKey, Token } = keys;
  const inner = `<SessionToken>${Token}</SessionToken><SecretAccessKey>${SecretAccessKey}</SecretAccessKey>`;
  const all = `${inner}<Expiration>${until(3_600_000)}</Expiration><AccessKeyId>${AccessKeyId}</AccessKeyId>`;
  return {
    body: `<AssumeRoleWithWebIdentityResponse><Credentials>${all}</Credentials></AssumeRoleWithWebIdentityResponse>`,
  };
}

const sources: [string, (seen: RecordedRequest) => Reply, (url: string) => Record<string, string>, requests: number][] =
  [
    ['a machine', machine, url => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: url }), 3],
    [
      'a container',
      container,
      url => ({
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/v1/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: fileWith('pod-token'),
      }),
      1,
    ],
    [
      'a web identity',
      sts,
      url => ({
        AWS_ENDPOINT_URL_STS: url,
        AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/mail',
        AWS_WEB_IDENTITY_TOKEN_FILE: fileWith('eyJ.web.identity'),
      }),
      1,
    ],
  ];

async function open(
  reply: (seen: RecordedRequest) => Reply,
  env: (url: string) => Record<string, string>,
  allowed = ['acme'],
) {
  const peer = await openHttpPeer(reply);
  const ses = await openHttpPeer({ body: '{"MessageId":"m-1"}' });
  const outbound = createOutbound({ allow: ['127.0.0.0/8'] });
  const awsRole = new EnvironmentRole(allowed, { ...env(peer.url), AWS_ENDPOINT_URL_SESV2: ses.url });
  const settings = { region: 'eu-central-1', from: 'a@acme.test', use_role: true };
  const sender = providers.ses!.open(settings as never, { outbound, awsRole });
  onTestFinished(async () => {
    await awsRole.close();
    await outbound.close();
    await peer.close();
    await ses.close();
  });
  return { peer, ses, sender };
}

describe('the role', () => {
  it.each(sources)('of %s signs emails, with credentials that are cached', async (_, reply, env, requests) => {
    const { peer, ses, sender } = await open(reply, env);
    const sending = Array.from({ length: 5 }, (_, n) => sender.send(exampleOutgoing({ id: `id-${n}` })));
    expect(await Promise.all(sending)).toEqual(Array(5).fill({ ok: true, id: 'm-1' }));
    expect(ses.seen[0]!.headers['x-amz-security-token']).toBe('hush-session');
    expect(ses.seen[0]!.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=ASIAEXAMPLEEXAMPLE\/\d{8}\/eu-central-1\/ses\//,
    );
    expect(peer.seen).toHaveLength(requests);
  });

  it('is refused to organizations that the operator does not name, without asking for it', async () => {
    const [, reply, env] = sources[0]!;
    const { peer, ses, sender } = await open(reply, env, ['other']);
    expect(await sender.send(exampleOutgoing())).toEqual({
      ok: false,
      retry: false,
      reason: expect.stringContaining('BELFRY_AWS_ROLE_FOR'),
    });
    expect([...peer.seen, ...ses.seen]).toEqual([]);
    const all = await open(reply, env, ['*']);
    expect(await all.sender.send(exampleOutgoing())).toMatchObject({ ok: true });
  });

  it('is refused if the operator allows it to no organization', async () => {
    const outbound = createOutbound({ allow: ['127.0.0.0/8'] });
    onTestFinished(() => outbound.close());
    const settings = { region: 'eu-central-1', from: 'a@acme.test', use_role: true };
    const sender = providers.ses!.open(settings as never, { outbound });
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: false });
  });

  it.each<[string, Reply]>([
    ['is not there', { status: 404 }],
    ['answers nonsense', { body: 'no' }],
    ['has expired credentials', { body: credentials(-1_000) }],
    ['fails', { body: JSON.stringify({ Code: 'Failed', Message: 'no role' }) }],
    ['closes the connection', 'drop'],
  ])('is asked for again later if the container %s', async (_, reply) => {
    const [, answer, env] = sources[1]!;
    const { peer, sender } = await open(answer, env);
    peer.reply = reply;
    const outcome = await sender.send(exampleOutgoing());
    expect(outcome).toMatchObject({ ok: false, retry: true, reason: expect.stringContaining('AWS role') });
    expect(outcome).not.toHaveProperty('unknown');
    peer.reply = answer;
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: true });
  });

  it('reports what STS refuses', async () => {
    const [, , env] = sources[2]!;
    const { sender } = await open(sts, url => ({ ...env(url), AWS_ROLE_ARN: 'arn:aws:iam::1:role/x' }));
    const reason = expect.stringContaining('STS answered 400: InvalidIdentityToken No OpenIDConnect provider found');
    expect(await sender.send(exampleOutgoing())).toMatchObject({ ok: false, retry: true, reason });
  });
});

describe.each(['ses', 'sns'])('settings of %s', use => {
  const entry = { use, region: 'eu-central-1', ...(use === 'ses' && { from: 'a@acme.test' }) };
  const medium = use === 'ses' ? 'email' : 'sms';
  const key = { access_key_id: 'AKIAEXAMPLEEXAMPLE', secret_access_key: 'hush' };
  it.each<[string, object, string[]]>([
    ['an access key', key, []],
    ['the role', { use_role: true }, []],
    ['neither', {}, ['access_key_id']],
    ['both', { ...key, use_role: true }, ['access_key_id']],
    ['the role at another server', { use_role: true, endpoint: 'https://evil.test' }, ['endpoint']],
  ])('with %s are checked', (_, settings, fields) => {
    expect(checkEntry(providers, { ...entry, ...settings }, medium).map(({ field }) => field)).toEqual(fields);
  });
});
