/** The presets by the name that `update.use` has. */
import { alertmanager } from './alertmanager.ts';
import type { UpdatePreset } from './update.ts';
import { zabbix } from './zabbix.ts';

export const updatePresets = { alertmanager, zabbix } as const satisfies Record<string, UpdatePreset>;
export type UpdatePresetName = keyof typeof updatePresets;
export const updatePresetNames = Object.keys(updatePresets) as UpdatePresetName[];
