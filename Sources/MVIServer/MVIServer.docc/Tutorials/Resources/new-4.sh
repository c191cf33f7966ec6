$ rm Sources/LittleShop/Tally.swift Tests/LittleShopTests/TallyTests.swift
