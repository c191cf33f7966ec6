// Made by mvi-server 0.1.0 from the Swift types of its features (`types --typescript`). Do not edit.

/** The features by their names on the server. */
export interface Features {
  "counter": { state: Counter.State; intent: Counter.Intent; label: Counter.Label };
  "video-list": { state: VideoList.State; intent: VideoList.Intent; label: VideoList.Label };
  "user-info": { state: UserInfo.State; intent: UserInfo.Intent; label: UserInfo.Label };
  [instance: `lesson-detail:${string}`]: { state: LessonDetail.State; intent: LessonDetail.Intent; label: LessonDetail.Label };
  [instance: `order-detail:${string}`]: { state: OrderDetail.State; intent: OrderDetail.Intent; label: OrderDetail.Label };
  [instance: `checklist:${string}`]: { state: Checklist.State; intent: Checklist.Intent; label: Checklist.Label; presence: Checklist.Presence };
}

/** A number to count up and down, or to load. */
export namespace Counter {
  export interface State {
    count: number;
    isLoading: boolean;
  }

  export type Intent =
    | { type: "increment" }
    | { type: "decrement" }
    | { type: "add"; amount: number }
    | { type: "load" };

  export type Label =
    | { type: "milestone"; count: number }
    | { type: "toast"; text: string };
}

/** Conference videos, with a number of views that arrives on its own. */
export namespace VideoList {
  export interface State {
    status: Shared.LoadStatus;
    summary?: string;
    views?: string;
    error?: string;
    videos: Row[];
  }

  export type Intent =
    | { type: "onAppear" }
    | { type: "retry" }
    | { type: "tapVideo"; id: number };

  export type Label =
    | { type: "openVideo"; title: string; url: string }
    | { type: "toast"; text: string };

  export interface Row {
    id: number;
    title: string;
    subtitle: string;
    duration: string;
  }
}

/** The signed-in user, loaded at once, with an error state and a reload. */
export namespace UserInfo {
  export interface State {
    status: Status;
    profile?: Profile;
    error?: string;
  }

  export type Intent =
    | { type: "load" }
    | { type: "reload" };

  export type Label =
    | { type: "toast"; text: string };

  export interface Profile {
    name: string;
    initials: string;
    email: string;
    phone?: string;
    city: string;
    membership: string;
  }

  export type Status = "loading" | "content" | "error";
}

/** A lesson: where and when, and the place booked in it. */
export namespace LessonDetail {
  export interface State {
    status: Shared.LoadStatus;
    lesson?: Content;
    progress?: string;
    error?: string;
  }

  export type Intent =
    | { type: "onAppear" }
    | { type: "tapConfirmCancelEnrollment" }
    | { type: "tapEnrollAgain" }
    | { type: "resendConfirmation" }
    | { type: "tapOpenMaps" }
    | { type: "tapAddToCalendar" };

  export type Label =
    | { type: "dismiss"; reason: string }
    | { type: "openMaps"; name: string; latitude: number; longitude: number }
    | { type: "addToCalendar"; title: string; location: string; startsAt: string; endsAt: string }
    | { type: "toast"; text: string };

  export interface Content {
    title: string;
    subtitle: string;
    date: string;
    time: string;
    price: string;
    venue: string;
    address: string;
    places: string;
    isEnrolled: boolean;
  }
}

/** An order in four sections that load on their own. */
export namespace OrderDetail {
  export interface State {
    id: string;
    status: SectionViewOfStatusSectionContent;
    infoCard: SectionViewOfInfoCardSectionContent;
    fee: SectionViewOfFeeSectionContent;
    scheduling: SectionViewOfSchedulingSectionContent;
  }

  export type Intent =
    | { type: "statusButton"; actionId: string }
    | { type: "refreshAllData" }
    | { type: "retrySection"; section: Section };

  export type Label =
    | { type: "toast"; text: string };

  export interface Button {
    actionId: string;
    title: string;
    isEnabled: boolean;
  }

  export interface FeeSectionContent {
    lines: Line[];
    total: string;
  }

  export interface InfoCardSectionContent {
    customer: string;
    phone: string;
    address: string;
    subject: string;
    notes?: string;
  }

  export interface Line {
    text: string;
    amount: string;
  }

  export interface SchedulingSectionContent {
    date: string;
    time: string;
    technician: string;
  }

  export type Section = "status" | "infoCard" | "fee" | "scheduling";

  export interface SectionViewOfFeeSectionContent {
    status: Shared.LoadStatus;
    error?: string;
    content?: FeeSectionContent;
  }

  export interface SectionViewOfInfoCardSectionContent {
    status: Shared.LoadStatus;
    error?: string;
    content?: InfoCardSectionContent;
  }

  export interface SectionViewOfSchedulingSectionContent {
    status: Shared.LoadStatus;
    error?: string;
    content?: SchedulingSectionContent;
  }

  export interface SectionViewOfStatusSectionContent {
    status: Shared.LoadStatus;
    error?: string;
    content?: StatusSectionContent;
  }

  export interface StatusSectionContent {
    title: string;
    detail: string;
    buttons: Button[];
    progress?: string;
  }
}

/** A list that everybody shares, one for each key. */
export namespace Checklist {
  export interface State {
    items: Item[];
    added: number;
  }

  export type Intent =
    | { type: "add"; text: string }
    | { type: "check"; id: number; isDone: boolean }
    | { type: "remove"; id: number }
    | { type: "clear" };

  export type Label =
    | { type: "cleared"; count: number; by: string };

  export type Presence = string;

  export interface Item {
    id: number;
    text: string;
    addedBy: string;
    checkedBy?: string;
  }
}

/** Types of several features. */
export namespace Shared {
  export type LoadStatus = "empty" | "loading" | "content" | "error";
}
