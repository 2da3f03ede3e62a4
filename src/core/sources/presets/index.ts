/** The presets by the name that a source uses. */
import type { SourcePreset } from '../alert.ts';
import { alertmanager } from './alertmanager.ts';
import { cloudevents } from './cloudevents.ts';
import { email } from './email.ts';
import { formatted } from './formatted.ts';
import { grafana } from './grafana.ts';
import { healthchecks } from './healthchecks.ts';
import { opsgenie } from './opsgenie.ts';
import { pagerduty } from './pagerduty.ts';
import { sns } from './sns.ts';
import { uptimeKuma } from './uptime-kuma.ts';
import { zabbix } from './zabbix.ts';

export const sourcePresets = {
  alertmanager,
  grafana,
  pagerduty,
  opsgenie,
  zabbix,
  'uptime-kuma': uptimeKuma,
  healthchecks,
  cloudevents,
  sns,
  email,
  formatted,
} as const satisfies Record<string, SourcePreset>;

export type SourcePresetName = keyof typeof sourcePresets;
export const sourcePresetNames = Object.keys(sourcePresets) as SourcePresetName[];
