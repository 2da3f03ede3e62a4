/**
 * Checks the Helm chart: the values match their schema, and templates use only existing values. If helm is installed, it also runs lint and
 * checks every object of some typical installations against the rules below.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { Ajv } from 'ajv';
import { parse, parseAllDocuments } from 'yaml';
import { settings } from '../../src/config.ts';
import { hasProgram, root, run } from './support.ts';

const chart = path.join(root, 'deploy/helm/belfry');
/** Without it, helm assumes the oldest version it knows. */
const cluster = ['--kube-version', '1.31.0'];
const requiredOptions = ['--set', 'existingSecret=belfry', '--set', 'baseUrl=https://notify.example.com'];
const installs: Record<string, string[]> = {
  plain: [],
  hpa: ['--set', 'worker.autoscaling.enabled=true'],
  keda: ['--set', 'worker.autoscaling.enabled=true', '--set', 'worker.autoscaling.provider=keda'],
  everything: [
    ...['--set', 'ingress.enabled=true', '--set', 'ingress.tlsSecret=tls', '--set', 'ingress.className=nginx'],
    ...['--set', 'metrics.podMonitor.enabled=true', '--set', 'env.LOG_LEVEL=debug', '--set', 'trustProxy=10.0.0.0/8'],
  ],
  open: ['--set', 'networkPolicy.enabled=false', '--set', 'migration.enabled=false'],
  ports: Object.entries({
    BELFRY_SMTP_IN: '0.0.0.0:2526',
    BELFRY_DNS_SERVERS: '192.0.2.53\\,192.0.2.54:5353',
    BELFRY_MAIL_URL: 'smtp://user:p%40ss@mail.test:1025?from=b@x.test',
    BELFRY_REPLICA_URL: 'postgres://replica.test:5433/belfry',
    BELFRY_OUTBOX_URLS: 'acme=postgres://a.test/shop beta=postgres://[2001:db8::1]:6543/shop',
    OIDC_ISSUER: 'https://login.test:8443/realm',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.monitoring:4318',
  }).flatMap(([name, value]) => ['--set-string', `env.${name}=${value}`]),
};
/** The ports that the network policy of the installation `ports` opens because of its settings. */
const settingPorts = [1025, 5353, 5432, 5433, 6543, 8443, 4318];
/** URLs in the settings that Belfry does not connect to, or not as a server. */
const withoutConnection = ['BASE_URL', 'BELFRY_URL'];

interface Container {
  name: string;
  args: string[];
  env: { name: string }[];
  ports?: { name: string; containerPort: number }[];
  securityContext: { readOnlyRootFilesystem?: boolean; allowPrivilegeEscalation?: boolean };
  resources?: object;
}

interface PodSpec {
  containers: Container[];
  securityContext: { runAsNonRoot?: boolean };
}

interface PolicyRule {
  ports: { port: number | string }[];
}

interface KubernetesObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels: Record<string, string> };
  spec: {
    selector?: { matchLabels?: Record<string, string> } & Record<string, unknown>;
    template?: { metadata: { labels: Record<string, string> }; spec: PodSpec };
    scaleTargetRef?: { name: string };
    containers?: Container[];
    ports?: { name: string; targetPort: string }[];
    ingress?: PolicyRule[];
    egress?: PolicyRule[];
  };
}

export async function checkChart(): Promise<string> {
  const values = parse(await readFile(path.join(chart, 'values.yaml'), 'utf8')) as object;
  const schema = JSON.parse(await readFile(path.join(chart, 'values.schema.json'), 'utf8'));
  const ajv = new Ajv({ strict: false });
  const fitsSchema: boolean = ajv.validate(schema, values);
  if (!fitsSchema) throw new Error(`values.yaml: ${ajv.errorsText()}`);
  await refuseUnknownValues(values);
  await requireUrlSettings();
  if (!hasProgram('helm')) return 'values match schema and templates; helm is not installed, so nothing was rendered';

  await run('helm', ['lint', '--strict', chart, ...requiredOptions]);
  let count = 0;
  for (const [name, options] of Object.entries(installs)) {
    const text = await run('helm', ['template', 'belfry', chart, ...cluster, ...requiredOptions, ...options]);
    const objects = parseAllDocuments(text)
      .map(document => document.toJS() as KubernetesObject | null)
      .filter(object => object !== null);
    for (const object of objects) checkObject(`${name}: ${object.kind} ${object.metadata?.name}`, object, objects);
    if (name === 'ports') checkPorts(objects);
    count += objects.length;
  }
  for (const missing of ['existingSecret', 'baseUrl']) {
    const message = await run('helm', [
      'template',
      'belfry',
      chart,
      ...cluster,
      ...requiredOptions,
      '--set',
      `${missing}=`,
    ]).then(
      () => undefined,
      error => (error as Error).message,
    );
    if (!message?.includes(`${missing} is required`)) throw new Error(`a missing ${missing} is not reported`);
  }
  return `lint passes, and ${count} objects of ${Object.keys(installs).length} installations follow the rules`;
}

/** Helm silently renders missing values as empty. */
async function refuseUnknownValues(values: object): Promise<void> {
  for (const name of await readdir(path.join(chart, 'templates'), { recursive: true })) {
    if (!/\.(yaml|tpl|txt)$/.test(name)) continue;
    const text = await readFile(path.join(chart, 'templates', name), 'utf8');
    for (const [, dotted = ''] of text.matchAll(/\.Values\.([\w.]+)/g)) {
      let here: unknown = values;
      for (const key of dotted.split('.')) here = (here as Record<string, unknown> | undefined)?.[key];
      if (here === undefined) throw new Error(`templates/${name} uses .Values.${dotted}, which values.yaml lacks`);
    }
  }
}

/** The network policy must open the port of each URL in the settings. */
async function requireUrlSettings(): Promise<void> {
  const helpers = await readFile(path.join(chart, 'templates/_helpers.tpl'), 'utf8');
  const urls = Object.keys(settings).filter(name => /_(URLS?|ISSUER|ENDPOINT)$/.test(name));
  const missing = urls.filter(name => !withoutConnection.includes(name) && !helpers.includes(`"${name}"`));
  if (missing.length > 0) throw new Error(`belfry.outboundPorts in _helpers.tpl lacks ${missing.join(', ')}`);
}

/** Checks the objects of the installation `ports`. */
function checkPorts(objects: KubernetesObject[]): void {
  const specOf = (kind: string) => objects.find(one => one.kind === kind)!.spec;
  const portsOf = (rules: PolicyRule[] = []) => rules.flatMap(rule => rule.ports.map(({ port }) => port));
  const { ingress, egress } = specOf('NetworkPolicy');
  const closed = settingPorts.filter(port => !portsOf(egress).includes(port));
  if (closed.length > 0) throw new Error(`the network policy does not open ${closed.join(', ')}, which settings need`);
  const listeners = objects.flatMap(one =>
    (one.spec?.template?.spec.containers ?? []).flatMap(({ ports }) => ports ?? []),
  );
  const isReachable =
    portsOf(ingress).includes('smtp') &&
    specOf('Service').ports!.some(port => port.targetPort === 'smtp') &&
    listeners.filter(port => port.name === 'smtp' && port.containerPort === 2526).length === 1;
  if (!isReachable)
    throw new Error('BELFRY_SMTP_IN cannot be reached: the policy, the Service or the API lacks its port');
}

function checkObject(what: string, { kind, metadata, spec }: KubernetesObject, all: KubernetesObject[]): void {
  const must = (holds: boolean, message: string) => {
    if (!holds) throw new Error(`${what} ${message}`);
  };
  must(/^[a-z\d]([-a-z\d]{0,61}[a-z\d])?$/.test(metadata.name), 'has a name that Kubernetes rejects');
  must(metadata.labels?.['app.kubernetes.io/name'] === 'belfry', 'lacks its labels');
  const deployments = all.filter(one => one.kind === 'Deployment');
  const pods = spec?.template?.spec ?? (kind === 'Pod' ? (spec as unknown as PodSpec) : undefined);
  if (kind === 'Deployment')
    must(fits(spec.selector?.matchLabels, spec.template!.metadata.labels), 'selects other pods');
  if (kind === 'PodDisruptionBudget' || kind === 'Service') {
    const labels = (kind === 'Service' ? spec.selector : spec.selector?.matchLabels) as Record<string, string>;
    must(deployments.filter(one => fits(labels, one.spec.template!.metadata.labels)).length === 1, 'selects no pods');
  }
  if (spec?.scaleTargetRef) {
    const target = deployments.find(one => one.metadata.name === spec.scaleTargetRef?.name);
    must(
      target !== undefined && !('replicas' in target.spec),
      'scales a missing deployment, or one with fixed replicas',
    );
  }
  if (!pods) return;
  must(pods.securityContext.runAsNonRoot === true, 'may run as root');
  for (const container of pods.containers) {
    must(container.securityContext.readOnlyRootFilesystem === true, 'may write to its root');
    must(container.securityContext.allowPrivilegeEscalation === false, 'may gain privileges');
    for (const { name } of container.env) must(name in settings, `sets ${name}, which is not a Belfry setting`);
  }
}

function fits(selector: Record<string, string> | undefined, labels: Record<string, string>): boolean {
  return selector !== undefined && Object.entries(selector).every(([name, value]) => labels[name] === value);
}
