/** What an account shares: links, shares with other accounts, and file requests. */
import { fingerprintText } from '@szafa/format';
import type { CallOptions } from '../call.ts';
import { AccountFiles } from '../files/account-files.ts';
import type { ReceivedShare } from './account-shares.ts';
import type { Contact, Contacts } from './contacts.ts';
import type { Delivery, TakeOverOptions } from './deliveries.ts';
import type { Link, LinkOptions, OwnLink, ShareItem, ShareOptions } from './links.ts';
import type { FileRequest, OwnRequest, RequestOptions } from './requests.ts';

/** Loads sharing when it is first used: the page is smaller without it. */
const sharing = () => import('./sharing.ts');

/** The part of `Szafa` that concerns sharing. */
export class AccountSharing extends AccountFiles {
  #contacts: Contacts | undefined;

  /**
   * Creates a link that opens these files, as they are now, without an account. Anyone who has the link can
   * open them.
   * @throws ConflictError if a file is gone
   */
  async shareLink(items: readonly ShareItem[], options?: LinkOptions): Promise<Link> {
    return (await sharing()).makeLink(this.context, items, options);
  }

  /** Lists the links and shares of this account, the latest first; ended ones for a month. */
  async links(options?: CallOptions): Promise<OwnLink[]> {
    return (await sharing()).listLinks(this.context, options?.signal);
  }

  /** Ends a link or share. An ended one is removed from the list. */
  async endShare(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endShare', { params: { share_id: id }, ...options });
  }

  /**
   * Shares these files, as they are now, with another account of this server. The first time, the keys that
   * the server returns for that name are trusted and pinned: compare fingerprints to be sure.
   * @returns the id of the share
   * @throws ContactChangedError if the account has different keys than before
   */
  async shareWith(username: string, items: readonly ShareItem[], options?: ShareOptions): Promise<string> {
    const context = { ...this.context, contacts: await this.#loadContacts() };
    return (await sharing()).shareWith(context, username, items, options);
  }

  /** Lists what other accounts share with this one, the latest first. */
  async sharedWithMe(options?: CallOptions): Promise<ReceivedShare[]> {
    const context = { ...this.context, contacts: await this.#loadContacts() };
    return (await sharing()).listReceived(context, options?.signal);
  }

  /** Removes what another account shares with this one; the share ends. */
  async endReceived(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endReceived', { params: { share_id: id }, ...options });
  }

  async #loadContacts(): Promise<Contacts> {
    const { Contacts } = await sharing();
    this.#contacts ??= new Contacts(this.context, this.options.contacts);
    return this.#contacts;
  }

  /** Returns the fingerprint of this account, for others to compare. */
  async fingerprint(options?: CallOptions): Promise<string> {
    return fingerprintText(await this.keys.identity(options?.signal));
  }

  /**
   * Fetches the keys of another account, to compare their fingerprint.
   * @throws ContactChangedError if they differ from the pinned ones
   */
  async contact(username: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).show(username, options?.signal);
  }

  /** Returns the pinned keys of another account without a request; undefined if none are pinned. */
  async rememberedContact(username: string): Promise<Contact | undefined> {
    return (await this.#loadContacts()).remembered(username);
  }

  /** Marks the keys of a contact as compared in person. */
  async verifyContact(username: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).verify(username, options?.signal);
  }

  /**
   * Pins the new keys of a contact.
   * @param fingerprint as the owner of the account reads it out
   * @throws SzafaError if the server returns keys of another fingerprint
   */
  async acceptContact(username: string, fingerprint: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).accept(username, fingerprint, options?.signal);
  }

  /** Creates a file request: a link by which others upload into a folder of this account. */
  async requestLink(options: RequestOptions): Promise<FileRequest> {
    return (await sharing()).makeRequest(this.context, options);
  }

  /** Lists the file requests of this account, the latest first; ended ones for a month. */
  async requests(options?: CallOptions): Promise<OwnRequest[]> {
    return (await sharing()).listRequests(this.context, options?.signal);
  }

  /** Ends a file request; delivered files stay. An ended one is removed from the list. */
  async endRequest(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endRequest', { params: { request_id: id }, ...options });
  }

  /**
   * Lists the files that came by a request and were not accepted yet. They are in no list and no tree.
   */
  async deliveries(options?: CallOptions): Promise<Delivery[]> {
    return (await sharing()).listDeliveries(this.context, options?.signal);
  }

  /**
   * Turns a delivery into a file of this account.
   * @param options.folder where it goes; the folder of its request by default
   * @returns its path
   * @throws ConflictError if it is gone
   */
  async takeOver(delivery: Delivery, options?: TakeOverOptions): Promise<string> {
    return (await sharing()).takeOver(this.context, delivery, options);
  }

  /** Lists the ids in the headers of all files: pass them when you take over several deliveries. */
  async sealedIds(options?: CallOptions): Promise<Set<string>> {
    return (await sharing()).listSealedIds(this.context, options?.signal);
  }

  /**
   * Deletes a delivery for good.
   * @throws ConflictError if it is not a delivery any more
   */
  async dropDelivery(delivery: Delivery, options?: CallOptions): Promise<void> {
    return (await sharing()).dropDelivery(this.context, delivery, options?.signal);
  }
}
