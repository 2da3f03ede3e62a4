import { Type } from 'typebox';
import { OrganizationDocument } from '../core/configuration/document.ts';
import { getSettings } from '../services/organizations.ts';
import { readSamplePage } from '../services/preference-page.ts';
import { preferencePage } from './preference-html.ts';
import { chooseLanguage, wordsIn } from './preference-words.ts';
import { plain } from './route.ts';

const { brand_color, logo_url } = OrganizationDocument.properties;

export const previewPreferencePage = plain(['org'], {
  id: 'previewPreferencePage',
  summary: 'Preview the preference page',
  description:
    'As somebody sees it who has not chosen anything yet, whole and without links to other files. What is not given is as ' +
    'the organization has it. Nothing is stored.',
  tag: 'Organizations',
  status: 200,
  body: Type.Object(
    {
      brand_color,
      logo_url,
      locale: Type.Optional(Type.String({ maxLength: 35, description: 'Such as de. Absent: en.' })),
    },
    { $id: 'PreferencePagePreviewRequest', additionalProperties: false },
  ),
  answer: Type.Object({ html: Type.String() }, { $id: 'PreferencePagePreview' }),
  handle: async ({ deps, organization: { id }, body: { locale = 'en', ...look } }) => {
    const [settings, shown] = await Promise.all([getSettings(deps, id), readSamplePage(deps, id, locale)]);
    const organization = { ...settings, ...look };
    const language = chooseLanguage(locale, undefined);
    const frame = { language, words: wordsIn(language), nonce: '', organization, isEmbedded: true };
    const nobody = {
      organization_id: id,
      id: 0,
      username: '',
      email: '',
      locale,
      timezone: null,
      quiet_hours: null,
      link_generation: 0,
      organization,
    };
    return { html: preferencePage(frame, nobody, shown, { saved: false, wrong: false }) };
  },
});
