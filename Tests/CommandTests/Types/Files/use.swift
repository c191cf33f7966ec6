// A view author's code with the features' types; MadeTypesTests compiles it.

func describe(_ label: Counter.Label) -> String {
    switch label {
    case .milestone(let count): "\(count)"
    case .toast(let text): text
    }
}

func buttons(_ state: OrderDetail.State) -> [String] { state.status.content?.buttons.map(\.title) ?? [] }

let intents: [any Codable & Sendable] = [
    Counter.Intent.add(amount: 5), OrderDetail.Intent.retrySection(section: .fee), VideoList.Intent.tapVideo(id: 3),
]
let names = [Counter.name, OrderDetail.name]
