/** Grafana's webhook and OnCall contact points: Alertmanager's payload and a few fields more. */
import { isObject } from '../../json.ts';
import { parseObjectBody, readOne, type SourcePreset } from '../alert.ts';
import { pickTexts, readGroup } from './alertmanager.ts';
import { readFormatted } from './formatted.ts';

export const grafana: SourcePreset = {
  title: 'Grafana',
  // Grafana never repeats a request, whatever the answer.
  limited: 'accept',
  read(request) {
    const payload = parseObjectBody(request);
    // The legacy alerting of Grafana 8 and before sends a single alert.
    if (!Array.isArray(payload.alerts)) return { alerts: readOne(() => readFormatted(payload)) };
    return readGroup(payload, alert => ({
      ...pickTexts(alert, {
        dashboardURL: 'dashboard_url',
        panelURL: 'panel_url',
        silenceURL: 'silence_url',
        imageURL: 'image_url',
        ruleUID: 'rule_uid',
        valueString: 'value_string',
      }),
      ...(isObject(alert.values) && { values: alert.values }),
    }));
  },
};
