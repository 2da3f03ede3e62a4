/** Settings and signatures (Signature Version 4) of AWS services. */
import { AwsV4Signer } from 'aws4fetch';
import { Type } from 'typebox';
import { secretKey } from './fields.ts';

/** `permission` is the one that the user needs. */
export function awsSettings(permission: string, regionOf: string) {
  return {
    region: Type.String({
      pattern: '^[a-z]{2}(-[a-z]+)+-\\d+$',
      patternHint: 'must be a region such as eu-central-1',
      description: `The AWS region${regionOf}, such as eu-central-1.`,
      examples: ['eu-central-1'],
    }),
    access_key_id: Type.String({
      minLength: 16,
      maxLength: 128,
      pattern: '^\\w+$',
      patternHint: 'must be letters and digits',
      description: `The access key ID of a user with the permission ${permission}.`,
      examples: ['AKIAIOSFODNN7EXAMPLE'],
    }),
    secret_access_key: secretKey('The secret access key.'),
    session_token: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4096,
        pattern: '^[!-~]+$',
        patternHint: 'must not contain spaces',
        secret: true,
        description: 'Only for temporary credentials.',
      }),
    ),
  };
}

interface AwsRequest {
  service: string;
  url: string;
  contentType: string;
  body?: string;
  /** The SHA-256 of a body in pieces, in hexadecimal. */
  bodyHash?: string;
}

interface AwsCredentials {
  region: string;
  access_key_id: string;
  secret_access_key: string;
  session_token?: string;
}

/** Returns the headers of a POST, and the secrets among them. */
export async function signAws({ service, url, contentType, body, bodyHash }: AwsRequest, credentials: AwsCredentials) {
  const { region, access_key_id, secret_access_key, session_token } = credentials;
  const { headers } = await new AwsV4Signer({
    url,
    method: 'POST',
    headers: { 'content-type': contentType, ...(bodyHash && { 'x-amz-content-sha256': bodyHash }) },
    body,
    accessKeyId: access_key_id,
    secretAccessKey: secret_access_key,
    sessionToken: session_token,
    service,
    region,
  }).sign();
  return {
    headers: Object.fromEntries(headers),
    secrets: [secret_access_key, session_token, headers.get('authorization') ?? undefined],
  };
}

/** Names of errors that mean a wrong key or a missing permission, not a wrong message. */
export const deniedErrors =
  /AuthorizationError|AccessDenied|InvalidClientTokenId|SignatureDoesNotMatch|UnrecognizedClient|ExpiredToken|InvalidSignature|IncompleteSignature/;
