/** Settings and signatures (Signature Version 4) of AWS services. */
import { createHash, createHmac } from 'node:crypto';
import { Type } from 'typebox';
import { optionalBoolean, optionalString } from '../core/optional.ts';
import { roleNotAllowed } from './aws-role.ts';
import { secretKey } from './fields.ts';
import type { Failure } from './http-outcome.ts';
import type { SettingMistake } from './provider.ts';
import type { Tools } from './sending.ts';

/** `permission` is the one that the user needs. */
export function awsSettings(permission: string, regionOf: string) {
  return {
    region: Type.String({
      pattern: '^[a-z]{2}(-[a-z]+)+-\\d+$',
      patternHint: 'must be a region such as eu-central-1',
      description: `The AWS region${regionOf}, such as eu-central-1.`,
      examples: ['eu-central-1'],
    }),
    access_key_id: optionalString({
      minLength: 16,
      maxLength: 128,
      pattern: '^\\w+$',
      patternHint: 'must be letters and digits',
      description: `The access key ID of a user with the permission ${permission}. Required without use_role.`,
      examples: ['AKIAIOSFODNN7EXAMPLE'],
    }),
    secret_access_key: Type.Optional(secretKey('The secret access key.')),
    use_role: optionalBoolean({
      description:
        'Whether to use the AWS role that Belfry runs with instead of an access key. The operator must allow it for the ' +
        'organization with BELFRY_AWS_ROLE_FOR. Default: false.',
    }),
    session_token: optionalString({
      minLength: 1,
      maxLength: 4096,
      pattern: '^[!-~]+$',
      patternHint: 'must not contain spaces',
      secret: true,
      description: 'Only for temporary credentials.',
    }),
  };
}

/** The settings that belong together. */
export const awsDependencies = { access_key_id: ['secret_access_key'], secret_access_key: ['access_key_id'] };

interface AwsRequest {
  service: string;
  url: string;
  contentType: string;
  body?: string;
  /** The SHA-256 of a body in pieces, in hexadecimal. */
  bodyHash?: string;
}

interface AwsOptions {
  region: string;
  access_key_id?: string;
  secret_access_key?: string;
  session_token?: string;
  use_role?: boolean;
  endpoint?: string;
}

interface AwsCredentials extends AwsOptions {
  access_key_id: string;
  secret_access_key: string;
}

/** Finds access keys that are missing, or have no effect. */
export function findAwsMistakes(options: Partial<AwsOptions>): SettingMistake[] {
  const { use_role, access_key_id } = options;
  if (!use_role && access_key_id === undefined)
    return [{ field: 'access_key_id', message: 'is required, unless use_role is true', missing: true }];
  if (!use_role) return [];
  // A request that is signed with the role must not reach a server of the tenant's choice.
  return (['access_key_id', 'endpoint'] as const).flatMap(field =>
    options[field] === undefined ? [] : [{ field, message: 'must not be set if use_role is true' }],
  );
}

/** Returns the credentials to sign a message of the organization with, or why there are none. */
export async function findAwsCredentials(
  options: AwsOptions,
  { awsRole }: Pick<Tools, 'awsRole'>,
  organization: string,
): Promise<AwsCredentials | Failure> {
  const { region, use_role, access_key_id, secret_access_key } = options;
  if (use_role) {
    if (!awsRole) return roleNotAllowed(organization);
    const credentials = await awsRole.get(organization);
    return 'ok' in credentials ? credentials : { region, ...credentials };
  }
  if (access_key_id && secret_access_key) return { ...options, access_key_id, secret_access_key };
  return { ok: false, retry: false, denied: true, reason: 'access_key_id or secret_access_key is missing' };
}

/** Returns the address of a service: with the role, only AWS itself or the operator's own. */
export function awsUrlOf(options: AwsOptions, { awsRole }: Pick<Tools, 'awsRole'>, service: 'sesv2' | 'sns'): string {
  const chosen = options.use_role ? awsRole?.endpointOf(service) : options.endpoint;
  return chosen ?? `https://${service === 'sesv2' ? 'email' : service}.${options.region}.amazonaws.com`;
}

/** Returns the headers of a POST to a URL without a query, and the secrets among them. */
export function signAws({ service, url, contentType, body = '', bodyHash }: AwsRequest, credentials: AwsCredentials) {
  const { region, access_key_id, secret_access_key, session_token } = credentials;
  const { host, pathname } = new URL(url);
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '');
  // In the order of their names.
  const signed = {
    host,
    ...(bodyHash && { 'x-amz-content-sha256': bodyHash }),
    'x-amz-date': time,
    ...(session_token && { 'x-amz-security-token': session_token }),
  };
  const names = Object.keys(signed).join(';');
  const lines = Object.entries(signed).map(([name, value]) => `${name}:${value}\n`);
  const path = pathname.split('/').map(encodeSegment).join('/');
  const canonical = ['POST', path, '', lines.join(''), names, bodyHash ?? sha256(body)].join('\n');
  const scope = [time.slice(0, 8), region, service, 'aws4_request'];
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>(hmac, `AWS4${secret_access_key}`);
  const authorization = `AWS4-HMAC-SHA256 Credential=${access_key_id}/${scope.join('/')}, SignedHeaders=${names}, Signature=${hmac(key, text).toString('hex')}`;
  const { host: _, ...others } = signed;
  return {
    headers: { 'content-type': contentType, ...others, authorization },
    secrets: [secret_access_key, session_token, authorization],
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** A segment of a URL is encoded already; AWS signs it encoded twice. */
function encodeSegment(segment: string): string {
  return encodeURIComponent(segment).replaceAll(/[!'()*]/g, one => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Names of errors that mean a wrong key or a missing permission, not a wrong message. */
export const deniedErrors =
  /AuthorizationError|AccessDenied|InvalidClientTokenId|SignatureDoesNotMatch|UnrecognizedClient|ExpiredToken|InvalidSignature|IncompleteSignature/;
