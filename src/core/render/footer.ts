/** The unsubscribe footer of an email, in the language of the message. */
import { lookUp } from '../lookup.ts';
export interface RenderedLinks {
  unsubscribe_url: string;
  preferences_url: string;
}

const labels: Record<string, { unsubscribe: string; preferences: string }> = {
  en: { unsubscribe: 'Unsubscribe', preferences: 'Notification settings' },
  de: { unsubscribe: 'Abbestellen', preferences: 'Benachrichtigungen einstellen' },
  es: { unsubscribe: 'Cancelar suscripción', preferences: 'Preferencias de notificación' },
  fr: { unsubscribe: 'Se désabonner', preferences: 'Préférences de notification' },
};

export function footerLabels(locale: string) {
  return lookUp(labels, locale.split('-')[0]!) ?? labels.en!;
}

/** Appends the footer to the text of an email, unless the text contains the unsubscribe link already. */
export function addTextFooter(text: string, scope: Record<string, unknown>, locale: string): string {
  const { unsubscribe_url: unsubscribe, preferences_url: preferences } = scope;
  if (typeof unsubscribe !== 'string' || typeof preferences !== 'string') return text;
  if (unsubscribe === '' || preferences === '' || text.includes(unsubscribe)) return text;
  const label = footerLabels(locale);
  return `${text}\n\n-- \n${label.unsubscribe}: ${unsubscribe}\n${label.preferences}: ${preferences}`;
}
