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
};

interface Container {
  name: string;
  args: string[];
  env: { name: string }[];
  ports?: { name: string }[];
  securityContext: { readOnlyRootFilesystem?: boolean; allowPrivilegeEscalation?: boolean };
  resources?: object;
}

interface PodSpec {
  containers: Container[];
  securityContext: { runAsNonRoot?: boolean };
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
  };
}

export async function checkChart(): Promise<string> {
  const values = parse(await readFile(path.join(chart, 'values.yaml'), 'utf8')) as object;
  const schema = JSON.parse(await readFile(path.join(chart, 'values.schema.json'), 'utf8'));
  const ajv = new Ajv({ strict: false });
  const fitsSchema: boolean = ajv.validate(schema, values);
  if (!fitsSchema) throw new Error(`values.yaml: ${ajv.errorsText()}`);
  await refuseUnknownValues(values);
  if (!hasProgram('helm')) return 'values match schema and templates; helm is not installed, so nothing was rendered';

  await run('helm', ['lint', '--strict', chart, ...requiredOptions]);
  let count = 0;
  for (const [name, options] of Object.entries(installs)) {
    const text = await run('helm', ['template', 'belfry', chart, ...cluster, ...requiredOptions, ...options]);
    const objects = parseAllDocuments(text)
      .map(document => document.toJS() as KubernetesObject | null)
      .filter(object => object !== null);
    for (const object of objects) checkObject(`${name}: ${object.kind} ${object.metadata?.name}`, object, objects);
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
