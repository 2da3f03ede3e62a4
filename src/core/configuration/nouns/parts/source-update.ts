import { Type } from 'typebox';
import { durationPattern } from '../../../durations.ts';
import { templateLimits } from '../../../render/template/limits.ts';
import { defaultSilence } from '../../../sources/updates/alertmanager.ts';
import { updatePresetNames } from '../../../sources/updates/index.ts';
import { sourceUpdateLimits } from '../../../sources/updates/update.ts';
import { closed } from '../schemas.ts';

/** The server is literal: no value of an alert decides where the secret goes. */
const url = {
  minLength: 1,
  maxLength: sourceUpdateLimits.url,
  pattern: '^https?://[^\\s/?#@{}"\\\\]+([/?#][^"\\\\\\r\\n]*)?$',
  patternHint:
    'must be an http or https URL without user name, with no template before its path and without double quotes',
} as const;

const Request = (when: string) =>
  Type.Optional(
    Type.Object(
      {
        method: Type.Optional(Type.Enum(['POST', 'PUT', 'PATCH', 'DELETE', 'GET'], { description: 'Absent: POST.' })),
        url: Type.String({
          ...url,
          description: 'A template: `https://cmdb.acme.test/alerts/{{ key | url_encode }}`.',
        }),
        headers: Type.Optional(
          Type.Unsafe<Record<string, string>>({
            type: 'object',
            maxProperties: sourceUpdateLimits.headers,
            propertyNames: { pattern: "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$" },
            additionalProperties: { type: 'string', maxLength: 1_000, pattern: '^[^"\\\\\\r\\n]*$' },
            description: 'Templates without double quotes, such as `Authorization: Bearer {{ secret }}`.',
          }),
        ),
        body: Type.Optional(
          Type.String({
            maxLength: templateLimits.source,
            description: 'JSON, a template: `{"id": "{{ key }}", "by": "{{ by }}"}`. Absent: there is none.',
          }),
        ),
      },
      { ...closed, description: `What is sent when ${when}. Absent: nothing.` },
    ),
  );

export const Update = Type.Object(
  {
    use: Type.Optional(
      Type.Enum([...updatePresetNames], {
        description:
          'alertmanager: an acknowledgement creates a silence, which is deleted when it is withdrawn or the occurrence resolved. ' +
          'zabbix: the problem is acknowledged and closed. Absent: a request for each state.',
      }),
    ),
    url: Type.Optional(
      Type.String({
        ...url,
        description: 'With `use`, where the service is reached: `https://alertmanager.acme.test`.',
      }),
    ),
    silence_for: Type.Optional(
      Type.String({
        pattern: durationPattern,
        patternHint: 'must be a duration such as 30m, 4h or 2d',
        description: `When the silence ends automatically. Absent: ${defaultSilence}.`,
      }),
    ),
    acknowledged: Request('a person acknowledges an occurrence'),
    unacknowledged: Request('the acknowledgement is withdrawn or expires'),
    resolved: Request('a person resolves an occurrence'),
  },
  {
    ...closed,
    description:
      'Reports back to the sender what people do here; what the sender did itself is not. Templates see state, by, key, title, ' +
      'severity, occurrence.id, occurrence.url, secret and the context of the alert.',
  },
);
