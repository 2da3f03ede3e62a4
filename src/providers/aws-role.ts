/**
 * Credentials of the AWS role that this process runs with, so that no access key has to be stored: of a web identity (EKS and others),
 * of a container (ECS, EKS Pod Identity) or of the machine (EC2, IMDSv2). They come from the operator's environment, by the names that
 * all AWS tools use; tenants can neither choose nor see them. Only organizations that the operator names may send with them.
 */
import { readFile } from 'node:fs/promises';
import { type Renewal, RenewedValue } from '../lib/caching/renewed-value.ts';
import { createOutbound, type Outbound, OutboundError, type OutboundResponse } from '../lib/network/outbound.ts';
import { type Failure, pick } from './http-outcome.ts';
import type { AwsKeys, AwsRole } from './sending.ts';

type Environment = Record<string, string | undefined>;

const timeoutMs = 5_000;
const containerHost = 'http://169.254.170.2';
const machineUrl = 'http://169.254.169.254';
/** Of the token for the metadata of the machine, which is used at once. */
const metadataTokenSeconds = 60;

export class EnvironmentRole implements AwsRole {
  readonly #organizations: ReadonlySet<string>;
  readonly #env: Environment;
  readonly #outbound: Outbound;
  readonly #credentials: RenewedValue<AwsKeys, Failure>;

  /** `organizations` are slugs, or `*` for all. */
  constructor(organizations: readonly string[], env: Environment = process.env) {
    this.#organizations = new Set(organizations);
    this.#env = env;
    // All of its URLs come from the environment. Those of containers and machines are link-local.
    this.#outbound = createOutbound({ allow: ['0.0.0.0/0', '::/0'], timeoutMs });
    this.#credentials = new RenewedValue(() => this.#request());
  }

  async get(organization: string): Promise<AwsKeys | Failure> {
    if (!this.#organizations.has('*') && !this.#organizations.has(organization)) return roleNotAllowed(organization);
    const found = await this.#credentials.get();
    return 'value' in found ? found.value : found.failure;
  }

  endpointOf(service: 'sesv2' | 'sns'): string | undefined {
    return this.#env[`AWS_ENDPOINT_URL_${service.toUpperCase()}`] || undefined;
  }

  close(): Promise<void> {
    return this.#outbound.close();
  }

  async #request(): Promise<Renewal<AwsKeys> | { failure: Failure }> {
    try {
      return await this.#find();
    } catch (error) {
      const isExpected = error instanceof OutboundError || error instanceof RoleError || 'code' in (error as Error);
      if (!isExpected) throw error;
      return {
        failure: { ok: false, retry: true, reason: `no credentials of the AWS role: ${(error as Error).message}` },
      };
    }
  }

  #find(): Promise<Renewal<AwsKeys>> {
    const { AWS_WEB_IDENTITY_TOKEN_FILE, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI, AWS_CONTAINER_CREDENTIALS_FULL_URI } =
      this.#env;
    if (AWS_WEB_IDENTITY_TOKEN_FILE) return this.#assumeWithWebIdentity(AWS_WEB_IDENTITY_TOKEN_FILE);
    if (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI)
      return this.#readContainer(containerHost + AWS_CONTAINER_CREDENTIALS_RELATIVE_URI);
    if (AWS_CONTAINER_CREDENTIALS_FULL_URI) return this.#readContainer(AWS_CONTAINER_CREDENTIALS_FULL_URI);
    return this.#readMachine();
  }

  /** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html */
  async #assumeWithWebIdentity(file: string): Promise<Renewal<AwsKeys>> {
    const { AWS_ROLE_ARN, AWS_ROLE_SESSION_NAME, AWS_REGION, AWS_DEFAULT_REGION, AWS_ENDPOINT_URL_STS } = this.#env;
    if (!AWS_ROLE_ARN) throw new RoleError('AWS_ROLE_ARN is not set');
    const region = AWS_REGION || AWS_DEFAULT_REGION;
    const form = {
      Action: 'AssumeRoleWithWebIdentity',
      Version: '2011-06-15',
      RoleArn: AWS_ROLE_ARN,
      RoleSessionName: AWS_ROLE_SESSION_NAME || 'belfry',
      // Kubernetes replaces the file now and then.
      WebIdentityToken: (await readFile(file, 'utf8')).trim(),
    };
    const url = AWS_ENDPOINT_URL_STS || (region ? `https://sts.${region}.amazonaws.com` : 'https://sts.amazonaws.com');
    const answer = await this.#outbound.request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: new URLSearchParams(form).toString(),
    });
    const element = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(answer.text)?.[1];
    if (answer.status !== 200)
      throw new RoleError(`STS answered ${answer.status}: ${element('Code') ?? ''} ${element('Message') ?? ''}`);
    return toRenewal({
      AccessKeyId: element('AccessKeyId'),
      SecretAccessKey: element('SecretAccessKey'),
      Token: element('SessionToken'),
      Expiration: element('Expiration'),
    });
  }

  /** https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html */
  async #readContainer(url: string): Promise<Renewal<AwsKeys>> {
    const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file, AWS_CONTAINER_AUTHORIZATION_TOKEN } = this.#env;
    const authorization = file ? (await readFile(file, 'utf8')).trim() : AWS_CONTAINER_AUTHORIZATION_TOKEN;
    const headers = { accept: 'application/json', ...(authorization && { authorization }) };
    return toRenewal(readJson(await this.#get(url, headers)));
  }

  /** https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html */
  async #readMachine(): Promise<Renewal<AwsKeys>> {
    const base = (this.#env.AWS_EC2_METADATA_SERVICE_ENDPOINT || machineUrl).replace(/\/+$/, '');
    const session = await this.#outbound.request(`${base}/latest/api/token`, {
      method: 'PUT',
      headers: { 'x-aws-ec2-metadata-token-ttl-seconds': String(metadataTokenSeconds) },
    });
    if (session.status !== 200) throw new RoleError(`the metadata service answered ${session.status}`);
    const headers = { 'x-aws-ec2-metadata-token': session.text };
    const roles = `${base}/latest/meta-data/iam/security-credentials/`;
    const [role = ''] = (await this.#get(roles, headers)).text.trim().split('\n');
    if (!role) throw new RoleError('the machine has no role');
    return toRenewal(readJson(await this.#get(roles + encodeURIComponent(role), headers)));
  }

  async #get(url: string, headers: Record<string, string>): Promise<OutboundResponse> {
    const answer = await this.#outbound.request(url, { method: 'GET', headers });
    if (answer.status !== 200) throw new RoleError(`${new URL(url).host} answered ${answer.status}`);
    return answer;
  }
}

/** Returns undefined if no organization may use the role. */
export function openAwsRole(organizations: readonly string[] = []): EnvironmentRole | undefined {
  return organizations.length > 0 ? new EnvironmentRole(organizations) : undefined;
}

class RoleError extends Error {}

export function roleNotAllowed(organization: string): Failure {
  const reason = `the organization ${organization} may not use the AWS role of this installation: the operator allows it with BELFRY_AWS_ROLE_FOR`;
  return { ok: false, retry: false, reason };
}

function readJson({ text }: OutboundResponse): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new RoleError('the answer is not JSON');
  }
}

function toRenewal(json: unknown): Renewal<AwsKeys> {
  const field = (name: string) => {
    const value = pick(json, name);
    if (!value) throw new RoleError(pick(json, 'Message') ?? `the answer has no ${name}`);
    return value;
  };
  const lifetimeMs = Date.parse(field('Expiration')) - Date.now();
  if (!(lifetimeMs > 0)) throw new RoleError('the credentials have expired already');
  return {
    value: {
      access_key_id: field('AccessKeyId'),
      secret_access_key: field('SecretAccessKey'),
      session_token: field('Token'),
    },
    lifetimeMs,
  };
}
